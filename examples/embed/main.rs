//! The program of `main.c` in Rust: gradient descent on the energy of a chain of spins.
//!
//!     python -m diastase compile energy:energy --types "f64[layers,4]" --output energy.diastase
//!     python -m diastase export energy.diastase --c build --name energy
//!     rustc -O -Lbuild -lenergy -C link-arg='-Wl,-rpath,$ORIGIN/build' -o descent main.rs
//!     ./descent
//!
//! `Results` and the functions are those of build/energy.h. Memory that it gives is freed when an
//! `Energy` is dropped; slices are lent by it.

use std::ffi::{c_char, c_int, c_void, CStr};

const SPINS: usize = 4;
const STEPS: usize = 100;

#[repr(C)]
struct Results {
    value: f64,
    gradient: *mut f64,
    gradient_sizes: [i64; 2],
    allocated: [*mut c_void; 2],
}

extern "C" {
    fn energy(layers: i64, angles: *const f64, results: *mut Results) -> c_int;
    fn energy_free(results: *mut Results);
    fn energy_error() -> *const c_char;
}

/// A value and its gradient, in memory of the library's.
struct Energy(Results);

impl Energy {
    fn of(angles: &[[f64; SPINS]]) -> Result<Energy, String> {
        let mut results = Energy(Results {
            value: 0.0,
            gradient: std::ptr::null_mut(),
            gradient_sizes: [0; 2],
            allocated: [std::ptr::null_mut(); 2],
        });
        let angles_at = angles.as_ptr().cast();
        match unsafe { energy(angles.len() as i64, angles_at, &mut results.0) } {
            0 => Ok(results),
            _ => Err(unsafe { CStr::from_ptr(energy_error()) }
                .to_string_lossy()
                .into_owned()),
        }
    }

    fn gradient(&self) -> &[f64] {
        let count = self.0.gradient_sizes.iter().product::<i64>() as usize;
        if count == 0 {
            return &[];
        }
        unsafe { std::slice::from_raw_parts(self.0.gradient, count) }
    }
}

impl Drop for Energy {
    fn drop(&mut self) {
        unsafe { energy_free(&mut self.0) }
    }
}

fn main() -> Result<(), String> {
    let layers = std::env::args()
        .nth(1)
        .map_or(Ok(3), |text| text.parse::<usize>());
    let layers = layers.map_err(|error| error.to_string())?;
    let mut angles = vec![[0.0; SPINS]; layers];
    for (i, angle) in angles.iter_mut().flatten().enumerate() {
        *angle = 0.1 * (i % 7) as f64;
    }
    for step in 0..=STEPS {
        let found = Energy::of(&angles)?;
        if step % 20 == 0 {
            println!("step {step:3}: energy {:.6}", found.0.value);
        }
        for (angle, slope) in angles.iter_mut().flatten().zip(found.gradient()) {
            *angle -= 0.1 * slope;
        }
    }
    Ok(())
}
