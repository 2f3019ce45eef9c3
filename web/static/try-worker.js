// Runs scenarios with Hopyard in Pyodide. One message in is one comparison; messages out are what the page shows.
// Pyodide starts in no worker but a module.

// Another address of Pyodide, and of Hopyard's wheel, can be given to test the page: try-worker.js?pyodide=…&wheel=…
const given = new URLSearchParams(location.search);
const PYODIDE = given.get("pyodide") ?? "https://cdn.jsdelivr.net/pyodide/v314.0.7/full/";
const WHEEL = given.get("wheel") ?? "hopyard";

let ready = null;

async function load() {
  postMessage({ state: "Fetches Python …" });
  const { loadPyodide } = await import(`${PYODIDE}pyodide.mjs`);
  const pyodide = await loadPyodide({ indexURL: PYODIDE, env: { MPLBACKEND: "Agg" } });
  postMessage({ state: "Fetches Hopyard and its libraries …" });
  await pyodide.loadPackage("micropip");
  await pyodide.pyimport("micropip").install(WHEEL);
  const source = await (await fetch(new URL("try.py", location.href))).text();
  const compare = pyodide.runPython(`${source}\ncompare`);
  return (it) => compare(it.scenario, it.tcp, it.runs, it.measure).toJs();
}

onmessage = async (event) => {
  try {
    ready ??= load();
    const compare = await ready;
    postMessage({ state: "Runs …" });
    const begun = performance.now();
    const [table, plot] = compare(event.data);
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    postMessage({ table, plot, state: `Done in ${seconds} s.`, done: true });
  } catch (error) {
    // The last line of a traceback is what the user can change.
    const lines = String(error.message ?? error).trimEnd().split("\n");
    const begin = lines.findLastIndex((line) => /^\S*Error/.test(line));
    postMessage({ state: lines.slice(Math.max(begin, 0)).join("\n"), done: true });
    if (!(await ready?.then(() => true, () => false))) ready = null;
  }
};
