// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Sets lathwork_hints for a compiler that knows #[diagnostic::on_unimplemented], from Rust 1.78 on.
use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version =
        version.map_or(String::new(), |out| String::from_utf8_lossy(&out.stdout).into_owned());
    let minor = version.split('.').nth(1);
    let minor = minor.map_or(0, |minor| minor.parse::<u32>().unwrap_or(0));
    if minor >= 78 {
        println!("cargo:rustc-cfg=lathwork_hints");
    }
    if minor >= 80 {
        println!("cargo:rustc-check-cfg=cfg(lathwork_hints)");
    }
}
