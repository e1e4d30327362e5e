func.func @f(%x: f64, %y: f32) -> (f64, f32) {
  %0 = math.expm1 %x : f64
  %1 = math.log1p %y : f32
  return %0, %1 : f64, f32
}

// becomes
module {
  func.func private @expm1(f64) -> f64 attributes {llvm.readnone}
  func.func private @log1pf(f32) -> f32 attributes {llvm.readnone}
  func.func @f(%arg0: f64, %arg1: f32) -> (f64, f32) {
    %0 = call @expm1(%arg0) : (f64) -> f64
    %1 = call @log1pf(%arg1) : (f32) -> f32
    return %0, %1 : f64, f32
  }
}
