// The console's own script: live parts, the editor's checks, and the token on what htmx sends. Reading works without it.
(function () {
  "use strict";
  var token = document.body.dataset.csrf;
  if (!token) return;

  document.body.addEventListener("htmx:configRequest", function (event) {
    event.detail.headers["X-CSRF"] = token;
  });

  var live = document.getElementById("live");
  function refresh() {
    if (!live || document.hidden) return;
    fetch(live.dataset.live, { headers: { "HX-Request": "true" } }).then(function (response) {
      if (response.status === 401) { location.reload(); return null; }
      return response.ok ? response.text() : null;
    }).then(function (text) {
      if (text === null || text === live.dataset.last) return;
      live.dataset.last = text;
      live.innerHTML = text;
    });
  }
  if (live) {
    var source = new EventSource("/console/events");
    source.addEventListener("stir", refresh);
    document.addEventListener("visibilitychange", refresh);
  }

  var editor = document.querySelector("textarea[data-check]");
  if (editor) {
    var waiting = null;
    editor.addEventListener("input", function () {
      clearTimeout(waiting);
      waiting = setTimeout(function () {
        var form = new URLSearchParams(new FormData(editor.form));
        fetch(editor.dataset.check, { method: "POST", body: form, headers: { "HX-Request": "true", "X-CSRF": token } })
          .then(function (response) { return response.ok ? response.text() : null; })
          .then(function (text) { if (text !== null) document.getElementById("checks").innerHTML = text; });
      }, 300);
    });
  }
})();
