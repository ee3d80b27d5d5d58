// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! All numbers and structs that the crate declares are as the C compiler has them.
use lathwork_sys::*;
use std::mem::{align_of, size_of, MaybeUninit};
use std::process::Command;

fn offset<T, F>(field: impl Fn(*const T) -> *const F) -> usize {
    let value = MaybeUninit::<T>::uninit();
    field(value.as_ptr()) as usize - value.as_ptr() as usize
}

/// The text of an assertion about each.
macro_rules! numbers {
    ($($type:ty: $($name:ident = $number:expr),*;)*) => {
        pub fn numbers() -> String {
            let all = [$($((stringify!($name), $name as u64)),*),*];
            all.map(|(name, number)| format!("_Static_assert({name} == {number}, \"\");\n")).concat()
        }
    };
}

macro_rules! structs {
    ($($name:ident { $($field:ident: $type:ty),* })*) => {
        pub fn structs() -> String {
            let mut text = String::new();
            $(
                text += &shape(stringify!($name), size_of::<$name>(), align_of::<$name>());
                $(
                    let at = offset(|s: *const $name| unsafe { std::ptr::addr_of!((*s).$field) });
                    let field = stringify!($field).trim_start_matches("r#");
                    let of = concat!("struct ", stringify!($name));
                    text += &format!("_Static_assert(offsetof({of}, {field}) == {at}, \"\");\n");
                )*
            )*
            text
        }
    };
}

macro_rules! opaque {
    ($($name:ident $words:expr;)*) => {
        pub fn opaque() -> String {
            let all = [$((stringify!($name), size_of::<$name>(), align_of::<$name>())),*];
            all.map(|(name, size, align)| shape(name, size, align)).concat()
        }
    };
}

fn shape(name: &str, size: usize, align: usize) -> String {
    format!(
        "_Static_assert(sizeof(struct {name}) == {size}, \"\");\n\
         _Static_assert(_Alignof(struct {name}) == {align}, \"\");\n"
    )
}

mod declared {
    use super::*;
    include!("../src/declared.rs");
}

#[test]
fn as_in_c() {
    let mut text = "#define LATHWORK_STORE\n".to_string();
    text += "#include <errno.h>\n#include \"lathwork.h\"\n";
    text += &[declared::numbers(), declared::structs(), declared::opaque()].concat();
    let file = std::env::temp_dir().join(format!("lathwork-layout-{}.c", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let done = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=c11", "-fsyntax-only", "-I", env!("LATHWORK_INCLUDE")])
        .arg(&file)
        .output()
        .unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn the_headers_version() {
    let version = unsafe { std::ffi::CStr::from_ptr(lath_version().cast()) };
    assert_eq!(version.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
}
