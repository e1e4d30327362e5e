// x y + 2, which does not change when x and y change places; LLVM knows no vector of it.
func.func @f(%a: memref<1000xf64>, %s: memref<f64>) {
  %k = arith.constant 2.0 : f64
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
    ins(%a : memref<1000xf64>) outs(%s : memref<f64>) {
  ^bb0(%x: f64, %y: f64):
    %p = arith.mulf %x, %y : f64
    %t = arith.addf %p, %k : f64
    linalg.yield %t : f64
  }
  return
}

// becomes
module {
  func.func @f(%arg0: memref<1000xf64>, %arg1: memref<f64>) {
    %alloca = memref.alloca() {alignment = 64 : i64} : memref<64xf64>
    %cst = arith.constant 2.000000e+00 : f64
    %c1000 = arith.constant 1000 : index
    %c64 = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %c64_0 = arith.constant 64 : index
    scf.for %arg2 = %c0 to %c1000 step %c64_0 {
      %c0_20 = arith.constant 0 : index
      %49 = arith.cmpi eq, %arg2, %c0_20 : index
      %50 = arith.subi %c1000, %arg2 : index
      %51 = arith.minui %c64, %50 : index
      %c0_21 = arith.constant 0 : index
      %c1_22 = arith.constant 1 : index
      scf.for %arg3 = %c0_21 to %51 step %c1_22 {
        %52 = arith.addi %arg2, %arg3 : index
        %53 = memref.load %arg0[%52] : memref<1000xf64>
        %54 = memref.load %alloca[%arg3] : memref<64xf64>
        %55 = arith.mulf %53, %54 : f64
        %cst_23 = arith.constant 2.000000e+00 : f64
        %56 = arith.addf %55, %cst_23 : f64
        %57 = arith.select %49, %53, %56 : f64
        memref.store %57, %alloca[%arg3] : memref<64xf64>
      }
    }
    %0 = memref.load %arg1[] : memref<f64>
    %c16 = arith.constant 16 : index
    %c64_1 = arith.constant 64 : index
    %c16_2 = arith.constant 16 : index
    scf.for %arg2 = %c16 to %c64_1 step %c16_2 {
      %c0_20 = arith.constant 0 : index
      %c16_21 = arith.constant 16 : index
      %c1_22 = arith.constant 1 : index
      scf.for %arg3 = %c0_20 to %c16_21 step %c1_22 {
        %49 = arith.addi %arg2, %arg3 : index
        %50 = memref.load %alloca[%49] : memref<64xf64>
        %51 = memref.load %alloca[%arg3] : memref<64xf64>
        %52 = arith.mulf %50, %51 : f64
        %cst_23 = arith.constant 2.000000e+00 : f64
        %53 = arith.addf %52, %cst_23 : f64
        memref.store %53, %alloca[%arg3] : memref<64xf64>
      }
    }
    %c0_3 = arith.constant 0 : index
    %1 = memref.load %alloca[%c0_3] : memref<64xf64>
    %c1 = arith.constant 1 : index
    %2 = memref.load %alloca[%c1] : memref<64xf64>
    %c2 = arith.constant 2 : index
    %3 = memref.load %alloca[%c2] : memref<64xf64>
    %c3 = arith.constant 3 : index
    %4 = memref.load %alloca[%c3] : memref<64xf64>
    %c4 = arith.constant 4 : index
    %5 = memref.load %alloca[%c4] : memref<64xf64>
    %c5 = arith.constant 5 : index
    %6 = memref.load %alloca[%c5] : memref<64xf64>
    %c6 = arith.constant 6 : index
    %7 = memref.load %alloca[%c6] : memref<64xf64>
    %c7 = arith.constant 7 : index
    %8 = memref.load %alloca[%c7] : memref<64xf64>
    %c8 = arith.constant 8 : index
    %9 = memref.load %alloca[%c8] : memref<64xf64>
    %c9 = arith.constant 9 : index
    %10 = memref.load %alloca[%c9] : memref<64xf64>
    %c10 = arith.constant 10 : index
    %11 = memref.load %alloca[%c10] : memref<64xf64>
    %c11 = arith.constant 11 : index
    %12 = memref.load %alloca[%c11] : memref<64xf64>
    %c12 = arith.constant 12 : index
    %13 = memref.load %alloca[%c12] : memref<64xf64>
    %c13 = arith.constant 13 : index
    %14 = memref.load %alloca[%c13] : memref<64xf64>
    %c14 = arith.constant 14 : index
    %15 = memref.load %alloca[%c14] : memref<64xf64>
    %c15 = arith.constant 15 : index
    %16 = memref.load %alloca[%c15] : memref<64xf64>
    %17 = arith.mulf %9, %1 : f64
    %cst_4 = arith.constant 2.000000e+00 : f64
    %18 = arith.addf %17, %cst_4 : f64
    %19 = arith.mulf %10, %2 : f64
    %cst_5 = arith.constant 2.000000e+00 : f64
    %20 = arith.addf %19, %cst_5 : f64
    %21 = arith.mulf %11, %3 : f64
    %cst_6 = arith.constant 2.000000e+00 : f64
    %22 = arith.addf %21, %cst_6 : f64
    %23 = arith.mulf %12, %4 : f64
    %cst_7 = arith.constant 2.000000e+00 : f64
    %24 = arith.addf %23, %cst_7 : f64
    %25 = arith.mulf %13, %5 : f64
    %cst_8 = arith.constant 2.000000e+00 : f64
    %26 = arith.addf %25, %cst_8 : f64
    %27 = arith.mulf %14, %6 : f64
    %cst_9 = arith.constant 2.000000e+00 : f64
    %28 = arith.addf %27, %cst_9 : f64
    %29 = arith.mulf %15, %7 : f64
    %cst_10 = arith.constant 2.000000e+00 : f64
    %30 = arith.addf %29, %cst_10 : f64
    %31 = arith.mulf %16, %8 : f64
    %cst_11 = arith.constant 2.000000e+00 : f64
    %32 = arith.addf %31, %cst_11 : f64
    %33 = arith.mulf %26, %18 : f64
    %cst_12 = arith.constant 2.000000e+00 : f64
    %34 = arith.addf %33, %cst_12 : f64
    %35 = arith.mulf %28, %20 : f64
    %cst_13 = arith.constant 2.000000e+00 : f64
    %36 = arith.addf %35, %cst_13 : f64
    %37 = arith.mulf %30, %22 : f64
    %cst_14 = arith.constant 2.000000e+00 : f64
    %38 = arith.addf %37, %cst_14 : f64
    %39 = arith.mulf %32, %24 : f64
    %cst_15 = arith.constant 2.000000e+00 : f64
    %40 = arith.addf %39, %cst_15 : f64
    %41 = arith.mulf %38, %34 : f64
    %cst_16 = arith.constant 2.000000e+00 : f64
    %42 = arith.addf %41, %cst_16 : f64
    %43 = arith.mulf %40, %36 : f64
    %cst_17 = arith.constant 2.000000e+00 : f64
    %44 = arith.addf %43, %cst_17 : f64
    %45 = arith.mulf %44, %42 : f64
    %cst_18 = arith.constant 2.000000e+00 : f64
    %46 = arith.addf %45, %cst_18 : f64
    %47 = arith.mulf %46, %0 : f64
    %cst_19 = arith.constant 2.000000e+00 : f64
    %48 = arith.addf %47, %cst_19 : f64
    memref.store %48, %arg1[] : memref<f64>
    return
  }
}
