//! The documentation names files and functions. They must exist.

use std::fs;
use std::path::{Path, PathBuf};

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the documentation") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The links of a page: text and target.
fn links(page: &str) -> Vec<(&str, &str)> {
    page.match_indices("](")
        .filter_map(|(at, _)| {
            let text = &page[page[..at].rfind('[')? + 1..at];
            let rest = &page[at + 2..];
            Some((text, &rest[..rest.find(')')?]))
        })
        .filter(|(_, target)| !target.starts_with("http") && !target.starts_with('#'))
        .collect()
}

#[test]
fn links_lead_to_what_they_say() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut found = Vec::new();
    pages(&docs, &mut found);
    let mut checked = 0;
    let mut broken = Vec::new();
    for path in &found {
        let page = fs::read_to_string(path).expect("a page");
        let folder = path.parent().expect("a folder");
        for (text, target) in links(&page) {
            let target = target.split('#').next().unwrap_or_default();
            // A program writes the comparison with other simulators.
            if target.ends_with("validation.md") {
                continue;
            }
            let file = folder.join(target);
            let name = text.trim_matches('`');
            let is_function = text.starts_with('`') && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            match fs::read_to_string(&file) {
                // Folders and pictures contain no text.
                Err(_) if file.exists() => {}
                Err(_) => broken.push(format!("{}: no file {target}", path.display())),
                Ok(source) if is_function && target.ends_with(".rs") => {
                    let module = target.contains(&format!("{name}/mod.rs"));
                    if !module && !source.contains(&format!("fn {name}(")) && !source.contains(&format!("fn {name}<")) {
                        broken.push(format!("{}: no function {name} in {target}", path.display()));
                    }
                }
                Ok(_) => {}
            }
            checked += 1;
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(checked > 100, "only {checked} links were found");
}

/// There is a page for every model, each with the marks of its generated table.
#[test]
fn every_model_has_its_page() {
    use hopyard_model::{
        agent, app, link::queue, mac, mac::rate_control, mobility, multicast, phy::fading, phy::propagation, routing,
        transport::acking, transport::congestion,
    };
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models");
    let rooms = [
        agent::MODELS,
        mac::MODELS,
        rate_control::MODELS,
        queue::MODELS,
        multicast::MODELS,
        mobility::MODELS,
        propagation::MODELS,
        fading::MODELS,
        routing::MODELS,
        app::MODELS,
        acking::MODELS,
        congestion::MODELS,
    ];
    for model in rooms.into_iter().flatten() {
        let page = fs::read_to_string(docs.join(format!("{}.md", model.name)));
        let page = page.unwrap_or_else(|_| panic!("{model:?} has no page"));
        for part in
            ["<!-- generated from the source: begin -->", "## Reference", "## Left out", "## Validation", "## Tests"]
        {
            assert!(page.contains(part), "{model:?}: no \"{part}\"");
        }
    }
}
