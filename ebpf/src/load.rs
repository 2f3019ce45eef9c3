//! A variant in the running kernel.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Var};
use libbpf_rs::{Link, MapCore as _, Object, ObjectBuilder, OpenObject, ProgramType};

use crate::Error;

/// The section of the parameters.
const PARAMETERS: &str = ".rodata";
/// A parameter with which a variant needs no times to live.
const HOPS: &str = "hops";

/// A variant that sockets can choose until this is dropped. Sockets that have chosen it keep it until they end.
#[derive(Debug)]
pub struct Loaded {
    _links: Vec<Link>,
    _object: Object,
}

/// Loads a compiled variant with parameters. `group` is the control group whose sockets' packets show times to live.
///
/// # Errors
///
/// If there is no such parameter, or the kernel refuses.
pub fn load(object: &Path, variant: &str, parameters: &[(String, u32)], group: &Path) -> Result<Loaded, Error> {
    let mut open = ObjectBuilder::default().name("hopyard")?.open_file(object)?;
    set(&mut open, object, variant, parameters)?;
    let mut object = open.load()?;
    let mut links = Vec::new();
    let hops = parameters.iter().any(|(name, value)| name == HOPS && *value > 0);
    for program in object.progs_mut().filter(|it| it.prog_type() == ProgramType::CgroupSkb && !hops) {
        let error = |why: String| Error::Group { folder: group.to_owned(), why };
        let folder = File::open(group).map_err(|it| error(it.to_string()))?;
        links.push(program.attach_cgroup(folder.as_raw_fd()).map_err(|it| error(it.to_string()))?);
    }
    for mut map in object.maps_mut().filter(|it| it.name() == variant) {
        links.push(map.attach_struct_ops()?);
    }
    Ok(Loaded { _links: links, _object: object })
}

/// Writes parameters to their places in the section, which the object's type information knows.
fn set(open: &mut OpenObject, object: &Path, variant: &str, parameters: &[(String, u32)]) -> Result<(), Error> {
    if parameters.is_empty() {
        return Ok(());
    }
    let types = Btf::from_path(object)?;
    let section = types.type_by_name::<DataSec<'_>>(PARAMETERS);
    let places: Vec<(String, usize)> = section
        .iter()
        .flat_map(|section| section.iter())
        .filter_map(|it| {
            let variable = types.type_by_id::<Var<'_>>(it.ty)?;
            Some((variable.name()?.to_str()?.to_owned(), it.offset as usize))
        })
        .collect();
    for (name, value) in parameters {
        let Some((_, place)) = places.iter().find(|(it, _)| it == name) else {
            let expected = places.iter().map(|(it, _)| it.as_str()).collect::<Vec<_>>().join(", ");
            return Err(Error::Parameter { variant: variant.to_owned(), found: name.clone(), expected });
        };
        for mut map in open.maps_mut().filter(|it| it.name().to_string_lossy().ends_with(PARAMETERS)) {
            if let Some(bytes) = map.initial_value_mut().and_then(|it| it.get_mut(*place..place + 4)) {
                bytes.copy_from_slice(&value.to_ne_bytes());
            }
        }
    }
    Ok(())
}
