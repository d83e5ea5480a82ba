"""`postroom.yaml`: connections and routes as a file says they should be, compared with what is and applied at once."""
