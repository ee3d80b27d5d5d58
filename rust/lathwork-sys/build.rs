// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Compiles lathwork.c. In the source tree tools/amalgamate makes it, with python3; a packaged crate
// has it in csrc.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes lathwork.c and lathwork.h in `out`, from the source tree that the crate lies in.
fn amalgamate(root: &Path, out: &Path) {
    let tool = root.join("tools/amalgamate");
    for changing in ["src", "include", "tools/amalgamate"] {
        println!("cargo:rerun-if-changed={}", root.join(changing).display());
    }
    let status = Command::new("python3")
        .arg(&tool)
        .arg("--output")
        .arg(out)
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{}: {}", tool.display(), status),
        Err(error) => panic!("{} needs python3: {}", tool.display(), error),
    }
}

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let root = here.join("../..");
    let packaged = here.join("csrc");

    println!("cargo:rerun-if-changed=build.rs");
    let sources = if root.join("tools/amalgamate").exists() {
        let made = out.join("csrc");
        amalgamate(&root, &made);
        made
    } else if packaged.join("lathwork.c").exists() {
        packaged
    } else {
        panic!(
            "{} is missing: tools/amalgamate --output makes it",
            packaged.display()
        );
    };
    println!("cargo:include={}", sources.display());
    println!("cargo:rustc-env=LATHWORK_INCLUDE={}", sources.display());
    let mut build = cc::Build::new();
    build
        .file(sources.join("lathwork.c"))
        .flag("-std=c11")
        .warnings(false);
    if env::var("OPT_LEVEL").as_deref() == Ok("0") {
        build.opt_level(2); // a debug build of a program is no debug build of this library
    }
    build.compile("lathwork");
    println!("cargo:rustc-link-lib=pthread");
}
