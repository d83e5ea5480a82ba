// The console's own script: the token on what htmx sends, and news from the gateway. Reading works without it.
(function () {
  "use strict";
  var token = document.body.dataset.csrf;
  if (!token) return;

  document.body.addEventListener("htmx:configRequest", function (event) {
    event.detail.headers["X-CSRF"] = token;
  });
  document.body.addEventListener("htmx:responseError", function (event) {
    if (event.detail.xhr.status === 401) location.reload();
  });

  document.body.addEventListener("submit", function (event) {
    var button = event.submitter;
    if (!button || event.target.method !== "post") return;
    setTimeout(function () {
      button.disabled = true;
      button.textContent = "Working …";
    });
  });

  if (document.getElementById("live")) {
    new EventSource("/console/events").addEventListener("stir", function () {
      if (!document.hidden) htmx.trigger(document.body, "stir");
    });
    document.addEventListener("visibilitychange", function () {
      if (!document.hidden) htmx.trigger(document.body, "stir");
    });
  }
})();
