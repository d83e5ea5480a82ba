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

  // A write that was refused comes back to its page: what was typed is still there. Never a password.
  var TYPED = "typed";
  function fields(form) {
    return Array.from(form.elements).filter(function (field) {
      return field.name && !/^(hidden|password|file|submit|button)$/.test(field.type) && field.tagName !== "BUTTON";
    });
  }
  function isOn(field) {
    return /^(checkbox|radio)$/.test(field.type) ? field.checked : null;
  }
  var typed = JSON.parse(sessionStorage.getItem(TYPED) || "null");
  sessionStorage.removeItem(TYPED);
  if (typed && document.querySelector("[data-refused]")) {
    Array.from(document.forms).forEach(function (form) {
      if (form.getAttribute("action") !== typed.action) return;
      fields(form).forEach(function (field, n) {
        var was = typed.fields[n];
        if (!was || was.name !== field.name) return;
        if (was.on === null) field.value = was.value;
        else field.checked = was.on;
        var box = field.closest("details");
        if (box) box.open = true;
      });
    });
  }

  document.body.addEventListener("submit", function (event) {
    var button = event.submitter;
    if (!button || event.target.method !== "post") return;
    sessionStorage.setItem(TYPED, JSON.stringify({
      action: event.target.getAttribute("action"),
      fields: fields(event.target).map(function (field) {
        return { name: field.name, value: field.value, on: isOn(field) };
      }),
    }));
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
