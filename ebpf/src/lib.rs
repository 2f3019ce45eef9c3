//! TCP variants for the running kernel: compiled from the sources of the modules, loaded as eBPF `struct_ops`.
//!
//! The sources are those of `kernels/hopyard_kernels/modules`, which have a licence of their own (GPL-2.0). They
//! are compiled on the machine on which they run, with the types of its kernel: nothing of them is in this program.

mod build;
mod load;

use std::path::PathBuf;

pub use build::{Sources, compile};
pub use load::{Loaded, load};

/// What is missing, or what failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no source of this variant.
    #[error("there is no TCP variant `{found}` in {folder}: expected {expected}")]
    Variant {
        /// The name that was given.
        found: String,
        /// Where the sources are.
        folder: PathBuf,
        /// The names that there are.
        expected: String,
    },
    /// The variant has no such parameter.
    #[error("{variant} has no parameter `{found}`: expected {expected}")]
    Parameter {
        /// The variant.
        variant: String,
        /// The name that was given.
        found: String,
        /// The names that there are.
        expected: String,
    },
    /// A program that is needed is not there, or has failed.
    #[error("{program} failed: {why}")]
    Program {
        /// The program, and the package of Debian that has it.
        program: &'static str,
        /// What it has written, or why it did not run.
        why: String,
    },
    /// The kernel has no types of its own.
    #[error("/sys/kernel/btf/vmlinux is not there: the kernel was built without CONFIG_DEBUG_INFO_BTF")]
    NoTypes,
    /// The control group whose sockets give times to live.
    #[error(
        "{folder}: {why}; this variant reads times to live from a control group (cgroup2): give the parameter `hops`, or \
         another folder with --cgroup"
    )]
    Group {
        /// Its folder.
        folder: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The kernel refuses, or the object is not what it should be.
    #[error("{0} (root is needed, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)")]
    Kernel(#[from] libbpf_rs::Error),
    /// A file.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
}
