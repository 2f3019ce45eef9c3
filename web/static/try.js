// The page "Try it": hands a scenario to a worker, and shows what comes back.
"use strict";

(() => {
  const part = (name) => document.getElementById(`try-${name}`);
  const button = part("run");
  const base = document.currentScript.src;
  let worker = null;

  function show(message) {
    if (message.state !== undefined) part("state").textContent = message.state;
    if (message.table !== undefined) part("table").textContent = message.table;
    if (message.plot !== undefined) {
      const image = new Image();
      image.alt = "The plot of the runs";
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(message.plot)}`;
      part("plot").replaceChildren(image);
    }
    if (message.done) button.disabled = false;
  }

  function failed(reason) {
    show({ state: reason, done: true });
    worker?.terminate();
    worker = null;
  }

  button.addEventListener("click", () => {
    if (location.protocol === "file:") {
      failed("A browser starts no worker in a page from a file: serve the folder of the site, as by python -m http.server.");
      return;
    }
    if (worker === null) {
      worker = new Worker(new URL("try-worker.js", base), { type: "module" });
      worker.onmessage = (event) => show(event.data);
      worker.onerror = (event) => failed(`The worker has failed: ${event.message}`);
    }
    button.disabled = true;
    show({ table: "", state: "Begins …" });
    part("plot").replaceChildren();
    worker.postMessage({
      scenario: part("scenario").value,
      tcp: part("tcp").value,
      runs: Number(part("runs").value),
      measure: part("measure").value,
    });
  });
})();
