// Builds the page: one file with its program and its style, into which Hopyard puts recordings.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = process.argv[2] ?? here("../python/hopyard/replaying/player.html");

const bundle = async (entry) => {
  const made = await build({
    entryPoints: [here(entry)],
    bundle: true,
    minify: true,
    write: false,
    target: "es2022",
    format: "iife",
    legalComments: "none",
  });
  return made.outputFiles[0].text.trim();
};

const [script, style] = await Promise.all([bundle("src/main.ts"), bundle("src/style.css")]);
// A bundle that had the end of a script in it would end there.
if (script.includes("</script") || style.includes("</style")) throw new Error("the bundle would end its own element");
// The licences of the libraries ask for their notices in copies.
const notices = ["twgl.js/LICENSE.md", "uplot/LICENSE"].map((path) =>
  readFileSync(here(`node_modules/${path}`), "utf8"),
);
const page = readFileSync(here("src/page.html"), "utf8")
  .replace("<!-- notices -->", () => `<!--\n${notices.join("\n").replaceAll("--", "- -")}-->`)
  .replace("/* style */", () => style)
  .replace("/* script */", () => script);
mkdirSync(dirname(target), { recursive: true });
writeFileSync(target, page);
