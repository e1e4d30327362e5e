; llvmlite cannot read this: LLVM IR parsing error <string>:7:17: error: use of undefined value '@_mlir_memref_to_llvm_aligned_alloc' %9 = call ptr @_mlir_memref_to_llvm_aligned_alloc(i64 64, i64 8000) ^
; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"



define { ptr, ptr, i64, [2 x i64], [2 x i64] } @diastase_entry(ptr %0, ptr %1, ptr %2, i64 %3, i64 %4, i64 %5, i64 %6, i64 %7) {
  %9 = call ptr @_mlir_memref_to_llvm_aligned_alloc(i64 64, i64 8000)
  %10 = call ptr @_mlir_memref_to_llvm_aligned_alloc(i64 64, i64 8000)
  br label %11

11:                                               ; preds = %14, %8
  %12 = phi i64 [ %16, %14 ], [ 0, %8 ]
  %13 = icmp slt i64 %12, 1000
  br i1 %13, label %14, label %17

14:                                               ; preds = %11
  %15 = getelementptr inbounds nuw double, ptr %9, i64 %12
  store double 0xFFF0000000000000, ptr %15, align 8
  %16 = add i64 %12, 1
  br label %11

17:                                               ; preds = %11
  br label %18

18:                                               ; preds = %34, %17
  %19 = phi i64 [ %35, %34 ], [ 0, %17 ]
  %20 = icmp slt i64 %19, 1000
  br i1 %20, label %21, label %36

21:                                               ; preds = %18
  br label %22

22:                                               ; preds = %25, %21
  %23 = phi i64 [ %33, %25 ], [ 0, %21 ]
  %24 = icmp slt i64 %23, 1000
  br i1 %24, label %25, label %34

25:                                               ; preds = %22
  %26 = mul nuw nsw i64 %19, 1000
  %27 = add nuw nsw i64 %26, %23
  %28 = getelementptr inbounds nuw double, ptr %2, i64 %27
  %29 = load double, ptr %28, align 8
  %30 = getelementptr inbounds nuw double, ptr %9, i64 %19
  %31 = load double, ptr %30, align 8
  %32 = call double @llvm.maximum.f64(double %31, double %29)
  store double %32, ptr %30, align 8
  %33 = add i64 %23, 1
  br label %22

34:                                               ; preds = %22
  %35 = add i64 %19, 1
  br label %18

36:                                               ; preds = %18
  %37 = call ptr @_mlir_memref_to_llvm_aligned_alloc(i64 64, i64 8000000)
  %38 = call ptr @_mlir_memref_to_llvm_aligned_alloc(i64 64, i64 8000000)
  %39 = insertvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } poison, ptr %38, 0
  %40 = insertvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %39, ptr %38, 1
  %41 = insertvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %40, i64 0, 2
  %42 = insertvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %41, i64 1000, 3, 0
  %43 = insertvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %42, i64 1000, 3, 1
  %44 = insertvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %43, i64 1000, 4, 0
  %45 = insertvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %44, i64 1, 4, 1
  br label %46

46:                                               ; preds = %64, %36
  %47 = phi i64 [ %65, %64 ], [ 0, %36 ]
  %48 = icmp slt i64 %47, 1000
  br i1 %48, label %49, label %66

49:                                               ; preds = %46
  br label %50

50:                                               ; preds = %53, %49
  %51 = phi i64 [ %63, %53 ], [ 0, %49 ]
  %52 = icmp slt i64 %51, 1000
  br i1 %52, label %53, label %64

53:                                               ; preds = %50
  %54 = mul nuw nsw i64 %47, 1000
  %55 = add nuw nsw i64 %54, %51
  %56 = getelementptr inbounds nuw double, ptr %2, i64 %55
  %57 = load double, ptr %56, align 8
  %58 = getelementptr inbounds nuw double, ptr %9, i64 %47
  %59 = load double, ptr %58, align 8
  %60 = fsub double %57, %59
  %61 = call double @llvm.exp.f64(double %60)
  %62 = getelementptr inbounds nuw double, ptr %37, i64 %55
  store double %61, ptr %62, align 8
  %63 = add i64 %51, 1
  br label %50

64:                                               ; preds = %50
  %65 = add i64 %47, 1
  br label %46

66:                                               ; preds = %46
  br label %67

67:                                               ; preds = %70, %66
  %68 = phi i64 [ %72, %70 ], [ 0, %66 ]
  %69 = icmp slt i64 %68, 1000
  br i1 %69, label %70, label %73

70:                                               ; preds = %67
  %71 = getelementptr inbounds nuw double, ptr %10, i64 %68
  store double 0.000000e+00, ptr %71, align 8
  %72 = add i64 %68, 1
  br label %67

73:                                               ; preds = %67
  br label %74

74:                                               ; preds = %90, %73
  %75 = phi i64 [ %91, %90 ], [ 0, %73 ]
  %76 = icmp slt i64 %75, 1000
  br i1 %76, label %77, label %92

77:                                               ; preds = %74
  br label %78

78:                                               ; preds = %81, %77
  %79 = phi i64 [ %89, %81 ], [ 0, %77 ]
  %80 = icmp slt i64 %79, 1000
  br i1 %80, label %81, label %90

81:                                               ; preds = %78
  %82 = mul nuw nsw i64 %75, 1000
  %83 = add nuw nsw i64 %82, %79
  %84 = getelementptr inbounds nuw double, ptr %37, i64 %83
  %85 = load double, ptr %84, align 8
  %86 = getelementptr inbounds nuw double, ptr %10, i64 %75
  %87 = load double, ptr %86, align 8
  %88 = fadd double %87, %85
  store double %88, ptr %86, align 8
  %89 = add i64 %79, 1
  br label %78

90:                                               ; preds = %78
  %91 = add i64 %75, 1
  br label %74

92:                                               ; preds = %74
  br label %93

93:                                               ; preds = %110, %92
  %94 = phi i64 [ %111, %110 ], [ 0, %92 ]
  %95 = icmp slt i64 %94, 1000
  br i1 %95, label %96, label %112

96:                                               ; preds = %93
  br label %97

97:                                               ; preds = %100, %96
  %98 = phi i64 [ %109, %100 ], [ 0, %96 ]
  %99 = icmp slt i64 %98, 1000
  br i1 %99, label %100, label %110

100:                                              ; preds = %97
  %101 = mul nuw nsw i64 %94, 1000
  %102 = add nuw nsw i64 %101, %98
  %103 = getelementptr inbounds nuw double, ptr %37, i64 %102
  %104 = load double, ptr %103, align 8
  %105 = getelementptr inbounds nuw double, ptr %10, i64 %94
  %106 = load double, ptr %105, align 8
  %107 = fdiv double %104, %106
  %108 = getelementptr inbounds nuw double, ptr %38, i64 %102
  store double %107, ptr %108, align 8
  %109 = add i64 %98, 1
  br label %97

110:                                              ; preds = %97
  %111 = add i64 %94, 1
  br label %93

112:                                              ; preds = %93
  call void @_mlir_memref_to_llvm_free(ptr %9)
  call void @_mlir_memref_to_llvm_free(ptr %10)
  call void @_mlir_memref_to_llvm_free(ptr %37)
  ret { ptr, ptr, i64, [2 x i64], [2 x i64] } %45
}

define void @diastase_program(ptr %0, ptr %1, ptr %2) {
  %4 = load { ptr, ptr, i64, [2 x i64], [2 x i64] }, ptr %2, align 8
  %5 = extractvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %4, 0
  %6 = extractvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %4, 1
  %7 = extractvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %4, 2
  %8 = extractvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %4, 3, 0
  %9 = extractvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %4, 3, 1
  %10 = extractvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %4, 4, 0
  %11 = extractvalue { ptr, ptr, i64, [2 x i64], [2 x i64] } %4, 4, 1
  %12 = call { ptr, ptr, i64, [2 x i64], [2 x i64] } @diastase_entry(ptr %1, ptr %5, ptr %6, i64 %7, i64 %8, i64 %9, i64 %10, i64 %11)
  store { ptr, ptr, i64, [2 x i64], [2 x i64] } %12, ptr %0, align 8
  ret void
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare double @llvm.exp.f64(double) #0

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare double @llvm.maximum.f64(double, double) #0

attributes #0 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!0}

!0 = !{i32 2, !"Debug Info Version", i32 3}

declare noalias ptr @malloc(i64) #9999
declare void @free(ptr allocptr) nounwind allockind("free") "alloc-family"="malloc"
attributes #9999 = {
  nounwind allockind("alloc,uninitialized") allocsize(0) "alloc-family"="malloc"
}
declare i32 @_setjmp(ptr) returns_twice nounwind
declare void @longjmp(ptr, i32) noreturn nounwind

@diastase_escape = internal thread_local global ptr null

define internal noalias ptr @_mlir_memref_to_llvm_alloc(i64 %size) alwaysinline {
  %empty = icmp eq i64 %size, 0
  %nonzero = select i1 %empty, i64 1, i64 %size
  %memory = call ptr @malloc(i64 %nonzero)
  %failed = icmp eq ptr %memory, null
  br i1 %failed, label %escape, label %done, !prof !{!"branch_weights", i32 1, i32 1000000}
escape:
  call void @diastase_out_of_memory(i64 %size)
  unreachable
done:
  call void @diastase_track(ptr %memory)
  ret ptr %memory
}

define internal void @_mlir_memref_to_llvm_free(ptr %memory) alwaysinline {
  call void @diastase_untrack(ptr %memory)
  call void @free(ptr %memory)
  ret void
}

define internal void @diastase_out_of_memory(i64 %size) noinline noreturn cold {
  %frame = load ptr, ptr @diastase_escape
  %context = load ptr, ptr %frame
  %code = load i64, ptr %context
  %first = icmp eq i64 %code, 0
  br i1 %first, label %record, label %escape
record:
  store i64 3, ptr %context
  %site = getelementptr i8, ptr %context, i64 8
  store i64 -1, ptr %site
  %detail = getelementptr i8, ptr %context, i64 16
  store i64 %size, ptr %detail
  br label %escape
escape:
  call void @diastase_abandon()
  unreachable
}

define internal void @diastase_leave() noinline noreturn cold {
  %frame = load ptr, ptr @diastase_escape
  %context = load ptr, ptr %frame
  %abandoned = getelementptr i8, ptr %context, i64 40
  store i64 1, ptr %abandoned
  %jump = getelementptr i8, ptr %frame, i64 16
  call void @longjmp(ptr %jump, i32 1)
  unreachable
}

define internal void @diastase_track(ptr %memory) alwaysinline {
  ret void
}
define internal void @diastase_untrack(ptr %memory) alwaysinline {
  ret void
}
define internal void @diastase_forget_tracked() alwaysinline {
  ret void
}
define internal void @diastase_abandon() noinline noreturn cold {
  call void @diastase_leave()
  unreachable
}

define void @_mlir_ciface_diastase_entry(ptr %0, ptr %1, ptr %2) {
  %frame = alloca [560 x i8], align 16
  %tracked = getelementptr i8, ptr %frame, i64 528
  store <3 x i64> zeroinitializer, ptr %tracked, align 16
  %outer = load ptr, ptr @diastase_escape
  store ptr %1, ptr %frame
  %saved = getelementptr i8, ptr %frame, i64 8
  store volatile ptr %outer, ptr %saved
  store ptr %frame, ptr @diastase_escape
  %jump = getelementptr i8, ptr %frame, i64 16
  %jumped = call i32 @_setjmp(ptr %jump) returns_twice
  %first = icmp eq i32 %jumped, 0
  br i1 %first, label %run, label %done
run:
  call void @diastase_program(ptr %0, ptr %1, ptr %2) noinline
  br label %done
done:
  call void @diastase_forget_tracked()
  %restored = load volatile ptr, ptr %saved
  store ptr %restored, ptr @diastase_escape
  ret void
}
