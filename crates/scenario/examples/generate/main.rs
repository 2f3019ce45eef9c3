//! Writes what is generated from the source: `docs/scenario.schema.json`, `docs/scenario.md`, `docs/tcp-events.md` and
//! the tables of `docs/models/*.md`.
//!
//! `cargo run -p hopyard-scenario --example generate`. A test fails if the files are not up to date.

use std::fs;
use std::io;
use std::path::Path;

mod docs;
mod events;

fn main() -> io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::create_dir_all(docs.join("models"))?;
    let schema = serde_json::to_string_pretty(&hopyard_scenario::json_schema())?;
    fs::write(docs.join("scenario.schema.json"), schema + "\n")?;
    for page in docs::pages() {
        let path = docs.join(&page.path);
        let existing = fs::read_to_string(&path).ok();
        fs::write(path, page.render(existing.as_deref()))?;
    }
    Ok(())
}
