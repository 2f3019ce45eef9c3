//! What is generated from the source and kept in the repository is what the source gives now.

use std::fs;
use std::path::Path;

use hopyard_scenario::json_schema;

#[path = "../examples/generate/docs.rs"]
mod docs;
#[path = "../examples/generate/events.rs"]
mod events;

const HOW: &str = "run `cargo run -p hopyard-scenario --example generate`";

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}; {HOW}", path.display()))
}

#[test]
fn the_schema_is_up_to_date() {
    let kept: serde_json::Value = serde_json::from_str(&read("scenario.schema.json")).expect("it is JSON");
    assert!(kept == json_schema(), "docs/scenario.schema.json is out of date: {HOW}");
}

#[test]
fn the_pages_are_up_to_date() {
    for page in docs::pages() {
        let kept = read(&page.path);
        assert!(page.render(Some(&kept)) == kept, "docs/{} is out of date: {HOW}", page.path);
    }
}
