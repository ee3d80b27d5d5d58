// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Compiles lathwork.c and src/word.c. In the source tree tools/amalgamate makes the first one, with
// python3; a packaged crate has it in csrc. Two files for gcc or clang need no crate to be compiled:
// the crate cc asks for a newer Rust (1.65) than this one does, and cargo before 1.84 chooses such a
// version; a limit here would fail in programs whose other crates need a later cc.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes lathwork.c and lathwork.h in `out`, from the source tree that the crate lies in.
fn amalgamate(root: &Path, out: &Path) {
    let tool = root.join("tools/amalgamate");
    for changing in ["src", "include", "tools/amalgamate"] {
        println!("cargo:rerun-if-changed={}", root.join(changing).display());
    }
    let status = Command::new("python3").arg(&tool).arg("--output").arg(out).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{}: {}", tool.display(), status),
        Err(error) => panic!("{} needs python3: {}", tool.display(), error),
    }
}

/// The variable NAME_TARGET, TARGET_NAME or NAME, by which a user says what to call for the target.
fn setting(name: &str, target: &str) -> Option<String> {
    let of_target = format!("{}_{}", name, target.replace('-', "_"));
    let names = [of_target, format!("TARGET_{}", name), name.to_string()];
    for name in &names {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    names.iter().find_map(|name| env::var(name).ok())
}

/// Calls a tool, which may be given with its own arguments ("ccache gcc").
fn call(tool: &str, arguments: &[&str]) {
    let mut words = tool.split_whitespace();
    let program = words.next().unwrap_or_default();
    match Command::new(program).args(words).args(arguments).status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{} {}: {}", tool, arguments.join(" "), status),
        Err(error) => panic!("{} cannot be called (CC or AR says another): {}", tool, error),
    }
}

/// Makes liblathwork.a of the sources in `out`.
fn compile(sources: &[PathBuf], include: &Path, out: &Path) {
    let target = env::var("TARGET").unwrap();
    let level = env::var("OPT_LEVEL").unwrap();
    let library = out.join("liblathwork.a");
    let host = env::var("HOST").unwrap();
    let mut prefix = String::new(); // of cross tools: aarch64-linux-gnu-, riscv64-linux-gnu-
    if target.split('-').next() != host.split('-').next() {
        prefix = target.replace("-unknown", "").replace("64gc-", "64-") + "-";
    }
    let compiler = match setting("CC", &target) {
        Some(compiler) => compiler,
        None if !prefix.is_empty() => prefix.clone() + "gcc",
        None if target.ends_with("musl") && !host.ends_with("musl") => "musl-gcc".to_string(),
        None => "cc".to_string(),
    };
    let optimize = match level.as_str() {
        "0" => "-O1".to_string(), // which takes half the time of -O2 to compile
        level => format!("-O{}", level),
    };
    let mut arguments = vec!["-std=c11", &optimize, "-fPIC", "-ffunction-sections", "-w"];
    if env::var("DEBUG").as_deref() == Ok("true") {
        arguments.push("-g1"); // lines, for backtraces
    }
    if env::var_os("CARGO_FEATURE_STORE").is_some() {
        arguments.push("-DLATHWORK_STORE");
    }
    let flags = setting("CFLAGS", &target).unwrap_or_default();
    arguments.extend(flags.split_whitespace());
    arguments.extend(["-I", include.to_str().unwrap()]);
    let mut objects = Vec::new();
    for source in sources {
        let object = out.join(source.file_name().unwrap()).with_extension("o");
        let mut arguments = arguments.clone();
        arguments.extend(["-c", source.to_str().unwrap(), "-o", object.to_str().unwrap()]);
        call(&compiler, &arguments);
        objects.push(object);
    }
    let archiver = setting("AR", &target).unwrap_or(prefix + "ar");
    let _ = std::fs::remove_file(&library);
    let mut arguments = vec!["crs", library.to_str().unwrap()];
    arguments.extend(objects.iter().map(|object| object.to_str().unwrap()));
    call(&archiver, &arguments);
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=lathwork");
}

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let root = here.join("../..");
    let packaged = here.join("csrc");

    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/word.c");
    let of = |what: &str| env::var(format!("CARGO_CFG_TARGET_{}", what)).unwrap_or_default();
    let (system, width) = (of("OS"), of("POINTER_WIDTH"));
    if (system.as_str(), width.as_str()) != ("linux", "64") {
        panic!("lathwork needs Linux on a 64-bit processor, not {} on {} bits", system, width);
    }
    let sources = if root.join("tools/amalgamate").exists() {
        let made = out.join("csrc");
        amalgamate(&root, &made);
        made
    } else if packaged.join("lathwork.c").exists() {
        packaged
    } else {
        panic!("{} is missing: tools/amalgamate --output makes it", packaged.display());
    };
    println!("cargo:include={}", sources.display());
    println!("cargo:rustc-env=LATHWORK_INCLUDE={}", sources.display());
    // clippy and docs.rs look at Rust alone, and run this in their own directories: nothing is linked there
    let wrapper = env::var("RUSTC_WORKSPACE_WRAPPER").unwrap_or_default();
    if wrapper.ends_with("clippy-driver") || env::var_os("DOCS_RS").is_some() {
        return;
    }
    let files = [sources.join("lathwork.c"), here.join("src/word.c")];
    compile(&files, &sources, &out);
    println!("cargo:rustc-link-lib=pthread");
}
