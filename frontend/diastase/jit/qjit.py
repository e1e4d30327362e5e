"""`qjit`: a Python function becomes one that compiles itself for each kind of arguments.

In: anything callable. Out: a `QJIT` object that is called like the function. It is a cache of
specialisations over the stages, and `__call__` is its fast path: it looks a call up by what is
cheap to know of its arguments, and leaves everything else (static values, the first call) to
`_call_in_general`.

The trap: within tracing, a `QJIT` must behave as the plain function, so that the program that is
being traced contains it, even when a compiled one is at hand. The fast path need not ask: a trace
of ours has settings of its own in `trace_context()`, so no key made within one is ever found.
"""

import functools
import inspect
import operator
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    overload,
)

import jax
from jax.core import Tracer

from diastase.capture.context import is_tracing
from diastase.capture.pennylane_compat import look_through
from diastase.capture.pennylane_compat.drawing import draw_compiled
from diastase.capture.tracer_errors import LeakedTracerError
from diastase.jit.dispatch.attribute_reads import WatchedSelf, watched_self
from diastase.jit.dispatch.keys import call_key, flat_key, tree_key
from diastase.jit.dispatch.program_cache import Plan, Programs, Specialisations
from diastase.jit.dispatch.promotion import Declaration
from diastase.jit.ir_properties import ProgramTexts
from diastase.jit.options.errors import InvalidOptionError, NotCallableError
from diastase.jit.options.options import Keywords, QjitOptions, option_parameters
from diastase.jit.stages.prepared_call import PreparedCall
from diastase.jit.stages.shared_memory import are_foreign, is_tensor, shared
from diastase.jit.stages.stages import Compiled, Lowered, Traced
from diastase.jit.stages.trace_call import read_arguments, settings_of
from diastase.tracing.argument_errors import UnhashableStaticArgumentError
from diastase.tracing.signatures import Call, Signature, signature_of
from diastase_mlir.jax_compat import (
    as_arrays,
    is_being_transformed,
    jit_is_disabled,
)
from diastase_mlir.options import workspace_of
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    import pennylane as qml

    from diastase.autograph import functions as with_autograph
    from diastase.inspection.pictures import draw as pictures
    from diastase.inspection.resources import specs
    from diastase.jit.interop import autograd_calls, bind, torch_calls, xla
    from diastase.jit.options import named_types
    from diastase.jit.options.named_types import Types
    from diastase.jit.stages import saving
else:
    bind = LazyModule("diastase.jit.interop.bind")
    xla = LazyModule("diastase.jit.interop.xla")
    autograd_calls = LazyModule("diastase.jit.interop.autograd_calls")
    torch_calls = LazyModule("diastase.jit.interop.torch_calls")
    with_autograph = LazyModule("diastase.autograph.functions")
    pictures = LazyModule("diastase.inspection.pictures.draw")
    specs = LazyModule("diastase.inspection.resources.specs")
    named_types = LazyModule("diastase.jit.options.named_types")
    saving = LazyModule("diastase.jit.stages.saving")

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

_NAMED = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")
_flatten = jax.tree_util.tree_flatten
_LEAF = jax.tree_util.tree_structure(0)


class QJIT(ProgramTexts, Generic[P, R]):
    """A compiled function; made by `qjit`, and called like the function itself.

    It holds a program for each kind of arguments; those of it that show IR are of the program that
    was compiled last. Within a function that is being traced it is the plain function. It copies
    and pickles by name.

    Args:
        fn: anything that can be called.
        compile_options: a `CompileOptions`, with what `qjit` takes as keywords.
        signature: for the package itself.
        made: for the package itself.

    Raises:
        NotCallableError: a `TypeError`, for what is no function.
        InvalidOptionError: a `ValueError`, for what is no `CompileOptions`.

    Example:
        >>> from diastase import qjit
        >>> @qjit(seed=3)
        ... def f(x: float):
        ...     return 2 * x
        >>> f
        <qjit f(x: float), 1 program>
        >>> f.jaxpr
        { lambda ; a:f64[]. let b:f64[] = mul 2.0:f64[] a in (b,) }
        >>> print(f.mlir)
        module {
          func.func @diastase_entry(%arg0: tensor<f64>) -> tensor<f64> {
            %cst = stablehlo.constant dense<2.000000e+00> : tensor<f64>
            %0 = stablehlo.multiply %cst, %arg0 : tensor<f64>
            return %0 : tensor<f64>
          }
        }
        >>> "llvm.fmul" in f.mlir_opt, "fmul double" in f.llvm_ir
        (True, True)
        >>> f.eval_shape(1.0)
        ShapeDtypeStruct(shape=(), dtype=float64, weak_type=True)
        >>> f.original_function(1.5), f.jaxed_function is f, f.compile_options.seed
        (3.0, True, 3)
        >>> f.workspace.name, f.report().native
        ('f', 1)
        >>> f.clear_cache()
        >>> f.compiled_function is None
        True

    """

    def __init__(
        self,
        fn: Callable[P, R],
        compile_options: QjitOptions,
        *,
        signature: Signature | None = None,
        made: Specialisations | None = None,
    ) -> None:
        function, options = fn, compile_options
        if not callable(function):
            raise NotCallableError(type=type(function).__qualname__)
        if not isinstance(options, QjitOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
            allowed = "a diastase.CompileOptions"
            raise InvalidOptionError(option="compile_options", value=repr(options), allowed=allowed)
        if is_new := signature is None:
            signature = signature_of(function, options.static_argnums, options.static_argnames)
            signature = replace(signature, bound_to=watched_self(function))
        functools.update_wrapper(self, function, assigned=_NAMED, updated=())
        self._function: Callable[..., Any] = function
        self._signature = signature
        self._options = options
        if options.autograph:
            function = with_autograph.with_autograph(function, options.autograph_include)
        self._traced: Callable[..., Any] = function
        self._programs = Programs(function, signature, options, made or Specialisations())
        self._plans = self._programs.made.plans
        self._has_static = signature.has_static
        self._methods: weakref.WeakKeyDictionary[Any, Specialisations] = weakref.WeakKeyDictionary()
        if is_new:
            self._compile_declared()

    # --- calls -----------------------------------------------------------------------------------

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, compiling it first if it was not yet for arguments of these types."""
        if self._has_static:
            return self._call_in_general(args, kwargs)
        leaves, names = args, ()
        if kwargs:
            names = (len(args), *sorted(kwargs))
            leaves = (*args, *[kwargs[name] for name in names[1:]])  # as JAX flattens them
        key = flat_key(leaves, names)
        if key is None:
            leaves, tree = _flatten((args, kwargs))
            plan = self._plans.get(tree_key(tree, leaves))
        else:
            plan = self._plans.get(key)
        return self._call_in_general(args, kwargs, key) if plan is None else plan(leaves)

    def _call_in_general(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], flat_key: Hashable = None
    ) -> Any:
        """Find or make the program for any kind of arguments, and call it."""
        if is_tracing():
            return self._inline(args, kwargs)
        if jit_is_disabled():
            return self._function(*args, **kwargs)
        if self._programs.declared is not None:
            given, by_name = args, bool(kwargs)
            args, kwargs = self._programs.declared.in_place(args, kwargs)
            if by_name or len(args) > len(given) or any(map(operator.is_not, given, args)):
                flat_key = None  # calls like this one are changed, too
        call = self._signature.split(args, kwargs)
        leaves, tree = jax.tree_util.tree_flatten((call.args, call.kwargs))
        if are_foreign(leaves) and not are_foreign(arrays := list(map(shared, leaves))):
            return self._call_shared(call, leaves, arrays, tree)
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            return bind.bind_call(self._programs, call, leaves, tree)
        key = call_key(self._signature, call, tree, leaves)
        plan = None if key is None else self._plans.get(key)
        if plan is not None:
            return plan(leaves)
        flat = tree.num_leaves == len(args) + len(kwargs)
        return self._call_first(call, leaves, tree, flat_key if flat else None)

    def _call_first(self, call: Call, leaves: list[Any], tree: Any, flat_key: Hashable) -> Any:
        """Call with arguments for which no plan is known."""
        if autograd_calls.is_boxed(leaves):
            return autograd_calls.call_boxed(functools.partial(QJIT.__call__, self), self, call)
        try:
            plan = self._plan(call, leaves, tree)
        except LeakedTracerError:
            if not is_being_transformed():
                raise
            return bind.bind_call(self._programs, call, leaves, tree)
        self._remember(plan, call, leaves, tree, flat_key)
        return plan(leaves)

    def _call_shared(self, call: Call, leaves: list[Any], arrays: list[Any], tree: Any) -> Any:
        """Call with arrays on the memory of other packages' arrays; with tensors for tensors."""
        run = functools.partial(QJIT.__call__, self)
        if any(map(is_tensor, leaves)):
            return torch_calls.call_with_tensors(run, self, call, leaves, arrays, tree)
        args, kwargs = call.merge(*jax.tree_util.tree_unflatten(tree, arrays))
        return run(*args, **kwargs)

    def _plan(self, call: Call, leaves: list[Any], tree: Any) -> Plan:
        """Find or make the program, and say how it is called."""
        plan = self._programs.for_call(call, leaves, tree)
        if not plan.executable.artifact.is_pure:
            plan = bind.ImpureCall(plan, self._programs, call, tree)
        elif isinstance(plan, PreparedCall) and plan.may_be_called_by_xla(leaves):
            plan = xla.ManyArrays.of(plan)
        return autograd_calls.giving_tensors(plan, leaves)

    def _remember(
        self, plan: Plan, call: Call, leaves: list[Any], tree: Any, flat_key: Hashable
    ) -> None:
        """Let calls like this one find their program at once.

        The key is made again: what a method has read of its object is part of it.
        """
        keys = [call_key(self._signature, call, tree, leaves)]
        self._specialisations.remember(keys if flat_key is None else [*keys, flat_key], plan)

    def _inline(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Trace the function as part of the program that is being traced."""
        self._specialisations.refuse_if_replaced(self._signature.name)
        call = self._signature.split(args, kwargs)
        positional, named = call.merge(as_arrays(call.args), as_arrays(call.kwargs))
        with settings_of(self._options), self._signature.recording(is_inlined=True):
            return self._traced(*positional, **named)

    # --- ahead of time ---------------------------------------------------------------------------

    def _compile_declared(self) -> None:
        """Compile for the types that the hints declare, as far as `target` says; if they do.

        A function that closes over tracers of a transformation is part of what is transformed.
        """
        declared = self._signature.declared()
        if declared is None or is_tracing() or jit_is_disabled():
            return
        try:
            self._compile_for(declared)
        except LeakedTracerError:
            if not is_being_transformed():
                raise

    def _compile_for(self, declared: tuple[Any, Any]) -> None:
        arguments = read_arguments(self._signature, Call(*declared), may_be_types=True)
        types = self._programs.abstracted(arguments)
        self._programs.declared = Declaration.of(self._signature, types)
        match self._options.target:
            case "binary":
                self._programs.compiled(arguments)
            case "jaxpr":
                self._specialisations.latest = self._programs.traced(types)
            case _:
                self._specialisations.latest = self._programs.traced(types).lower()

    @property
    def _specialisations(self) -> Specialisations:
        return self._programs.made

    # --- stages ----------------------------------------------------------------------------------

    def trace(self, /, *args: Any, **kwargs: Any) -> Traced:
        """Trace the function, and do not compile it.

        Args:
            *args: arguments, or types of them (`jax.ShapeDtypeStruct`); static ones are values.
            **kwargs: likewise, by name.

        Returns:
            A `Traced`, whose `lower()` and `compile()` go on.

        Raises:
            UnsupportedArgumentError: a `TypeError`, for what is neither an array nor the type of
                one.
            UnhashableStaticArgumentError: a `TypeError`, for a static argument without a hash.
            TracerArgumentError: a `TypeError`, inside of one of JAX's transformations.

        Example:
            >>> import jax
            >>> import jax.numpy as jnp
            >>> from diastase import qjit
            >>> traced = qjit(jnp.sin).trace(jax.ShapeDtypeStruct((3,), float))
            >>> traced.jaxpr
            { lambda ; a:f64[3]. let b:f64[3] = sin a in (b,) }

        """
        call = self._signature.split(args, kwargs)
        self._signature.static_key(call)
        arguments = read_arguments(self._signature, call, may_be_types=True)
        return self._programs.traced(self._programs.abstracted(arguments))

    def lower(self, /, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower to MLIR in one step: `trace(*args, **kwargs).lower()`.

        Args:
            *args: as for `trace`.
            **kwargs: as for `trace`.

        Returns:
            A `Lowered`, whose `compile()` goes on.

        Raises:
            UnsupportedArgumentError: a `TypeError`; this and all others as `trace`.
            CompileError: if something in the program cannot be compiled.

        Example:
            >>> from diastase import qjit
            >>> qjit(lambda x: x + 1).lower(1).compile()(2)
            Array(3, dtype=int64, weak_type=True)

        """
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, /, *args: Any, **kwargs: Any) -> Any:
        """Types of the results for these arguments, without compiling; as `jax.eval_shape`.

        Args:
            *args: as for `trace`.
            **kwargs: as for `trace`.

        Returns:
            A pytree like the results, of `jax.ShapeDtypeStruct`s; a size may be symbolic.

        Raises:
            UnsupportedArgumentError: a `TypeError`; this and all others as `trace`.

        """
        return self.trace(*args, **kwargs).out_info

    def save(
        self,
        path: str | PathLike[str],
        *,
        types: "Types | None" = None,
        target_cpu: str | Sequence[str] | None = None,
        sources: bool = False,
    ) -> Path:
        """Write compiled programs to a file, which `diastase_runtime.load` makes a function of.

        The file needs NumPy where it is loaded (SciPy for LAPACK and BLAS), and no compiler.
        `docs/artifacts.md` has all.

        Args:
            path: of the file, which is written anew.
            types: for which types programs are compiled and written; by default those that there
                are. `"f64[n,2], i64"`, a tuple of arguments' types, a dictionary of them by name; a
                list of such for several programs. A name in the place of a size is a size that is
                known when the function is called.
            target_cpu: for which processors there is to be code, one or several of "native" (this
                one, the default), "baseline" (the lowest that there is, x86-64-v2) and the levels
                "x86-64-v2" to "x86-64-v4"; where it is loaded, the best that can run is taken.
            sources: whether the file has the user's lines, which errors then show.

        Returns:
            The path.

        Raises:
            NothingToSaveError: a `ValueError`, for a function that has no program, without `types`.
            InvalidTypesError: a `ValueError`, for `types` that name none.
            TargetProcessorError: a `ValueError`, for a processor that there is not.
            NeedsPythonError: a `NotImplementedError`, for programs that call Python.
            UnsavableError: a `TypeError`, for pytrees of classes of one's own, say.
            AmbiguousProgramsError: a `ValueError`, for two programs for the same arguments.
            SaveError: an `OSError`, if the file cannot be written.

        Example:
            >>> import diastase_runtime
            >>> import jax.numpy as jnp
            >>> from diastase import qjit
            >>> path = qjit(jnp.cumsum).save("sums.diastase", types="f64[n]")
            >>> diastase_runtime.load(path)(jnp.array([1.0, 2.0, 3.0]))
            array([1., 3., 6.])

        """
        programs = self._specialisations.compiled()
        if types is not None or target_cpu is not None:
            self._specialisations.refuse_if_replaced(self._signature.name)
        if types is not None:
            programs = [self.compiled_for(*each) for each in named_types.read_types(types)]
        signature = self._signature
        names = signature.positional_names()
        called = saving.Called(
            signature.name,
            None if names is None else tuple(names),
            signature.static_positions,
            tuple(sorted(signature.static_names)),
        )
        every = [program for compiled in programs for program in compiled.alternatives]
        return saving.save_programs(Path(path), called, every, target_cpu, sources=sources)

    def compiled_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compiled:
        """The program for these types."""
        call = self._signature.split(args, kwargs)
        arguments = read_arguments(self._signature, call, may_be_types=True)
        return self._programs.compiled(arguments)

    def clear_cache(self) -> None:
        """Forget all compiled programs of this function, except those on disk."""
        self._specialisations.clear()

    # --- what it was made from -------------------------------------------------------------------

    @property
    def original_function(self) -> Callable[P, R]:
        """The function that was compiled; `user_function` is the same."""
        return self._function

    user_function = original_function

    @property
    def jaxed_function(self) -> "QJIT[P, R]":
        """What functions of JAX take, under Catalyst's name: the compiled function itself."""
        return self

    @property
    def compiled_function(self) -> Compiled | None:
        """The program compiled last, a `Compiled`; None before the first."""
        latest = self._specialisations.latest
        return latest if isinstance(latest, Compiled) else None

    @property
    def compile_options(self) -> QjitOptions:
        """The options given to `qjit`, a `CompileOptions`."""
        return self._options

    @property
    def workspace(self) -> Path:
        """Where intermediate IR is written if `keep_intermediate` asks for it, or was: a folder."""
        return workspace_of(self._signature.name, self._options.directory)

    def like(self, function: Callable[..., Any], of_same_arguments: bool = True) -> "QJIT":
        """Compile another function, of the same arguments or others, with the same options."""
        if of_same_arguments:
            return QJIT(function, self._options, signature=self._signature)
        options = self._options.but(abstracted_axes=None, target="binary")
        return QJIT(function, options, signature=signature_of(function))

    @property
    def signature(self) -> Signature:
        """Parameters of the function, and which of them are static."""
        return self._signature

    @property
    def programs(self) -> Programs:
        """The programs of the function: those that there are, and how others are made."""
        return self._programs

    @property
    def derived(self) -> dict[Hashable, Any]:
        """What others have compiled of the function, by what they asked for: derivatives, say."""
        return self._specialisations.derived

    def __reduce__(self) -> str:
        """Copy and pickle like a function: by name, never by content."""
        return self.__dict__["__qualname__"]

    # --- methods ---------------------------------------------------------------------------------

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> "QJIT[P, R]": ...
    @overload
    def __get__(
        self: "QJIT[Concatenate[Any, Q], R]", instance: object, owner: type | None = None
    ) -> "QJIT[Q, R]": ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind a method: `self` is static, as it is now; if it is a pytree, it is traced."""
        if instance is None:
            return self
        if jax.tree_util.tree_structure(instance) != _LEAF:
            return _TracedSelf(self, instance)
        return self._bound(instance)

    def _bound(self, instance: Any) -> "QJIT":
        made, options = self._of_instance(instance), self._options
        signature = self._signature.bound(WatchedSelf(instance, made.reads))
        if options.abstracted_axes is not None:
            axes = options.abstracted_axes.for_method(signature)
            options = options.but(abstracted_axes=axes)
        return QJIT(MethodType(self._function, instance), options, signature=signature, made=made)

    def _of_instance(self, instance: Any) -> Specialisations:
        """Find the programs of one instance, which live as long as it does."""
        try:
            return self._methods.setdefault(instance, Specialisations())
        except TypeError as error:
            raise UnhashableStaticArgumentError(
                function=self._signature.name,
                argument="self",
                type=type(instance).__name__,
                reason=str(error),
            ) from error


draw_compiled(
    QJIT,
    lambda *arguments, **options: pictures.draw(*arguments, **options),
    lambda *arguments, **options: pictures.draw_mpl(*arguments, **options),
)
look_through(QJIT, lambda *args, **kwargs: specs.specs_of(*args, **kwargs))


class _TracedSelf(QJIT):
    """A method of an instance that is a pytree: the instance is the first argument of each call."""

    def __init__(self, method: QJIT, instance: Any) -> None:
        vars(self).update(vars(method))
        self._instance = instance

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(self._instance, *args, **kwargs)

    def trace(self, /, *args: Any, **kwargs: Any) -> Traced:
        return super().trace(self._instance, *args, **kwargs)


class Decorator(Protocol):
    """What `qjit(**options)` gives: it keeps the signature of what it decorates."""

    # The result of a `QNode` is a type variable of PennyLane's, which nothing binds.
    @overload
    def __call__(self, fn: "qml.QNode", /) -> QJIT[..., Any]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> QJIT[P, R]: ...


@overload
def qjit(fn: "qml.QNode", **options: Unpack[Keywords]) -> QJIT[..., Any]: ...
@overload
def qjit(fn: Callable[P, R], **options: Unpack[Keywords]) -> QJIT[P, R]: ...
@overload
def qjit(fn: None = None, **options: Unpack[Keywords]) -> Decorator: ...
# Its parameters are those of `__signature__`.
def qjit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:  # noqa: D417
    """Compile a function of arrays, circuits and control flow to native code.

    It is compiled at the first call for each kind of arguments, or at once if every parameter has a
    type hint (`int`, `float`, `complex`, `bool`, a `jax.ShapeDtypeStruct` or a
    `jax.core.ShapedArray`). `docs/options.md` has what differs from Catalyst.

    Args:
        fn: anything that can be called, a QNode, say; without it, `qjit(seed=3)` is a decorator.
        autograph: whether Python's `if`, `for`, `while` become control flow of the program.
        autograph_include: modules, or their names, whose functions are converted, too.
        async_qnodes: runs QNodes that do not depend on each other at once; not with `seed`.
        target: how far to go at decoration: "jaxpr", "mlir", "llvmir" or "binary".
        keep_intermediate: writes the IR after each stage (True), each pass that changes it
            ("changed") or each pass ("pass") to `f.workspace`.
        use_nameloc: prints IR with the names of the function's arguments.
        verbose: reports times and files.
        logfile: an open text file for these reports; by default the standard error.
        pipelines: stages with names of passes, instead of `diastase.pipelines.default_pipeline()`.
        static_argnums: positions of arguments whose values, hashable ones, are part of the program.
        static_argnames: the same by name.
        abstracted_axes: names for axes of the arguments whose sizes are known at run time only: for
            all arguments (`("m", "n")`, `{1: "n"}`), for each (`(("m",), {})`), for a pytree a
            pytree.
        disable_assertions: leaves out what `debug_assert` would check.
        seed: from 0 to 2**32 - 1, makes measurement outcomes the same in every call.
        circuit_transform_pipeline: passes for the circuits of QNodes that ask for none themselves:
            names with options, in order, `{"cancel_inverses": {}}`, or a list of
            `diastase.passes.Pass`.
        pass_plugins: paths of Python files that register passes, one or a list.
        dialect_plugins: must be left out: plugins of MLIR are for another compiler.
        capture: True, False or "global", which choose between frontends of Catalyst's; here they
            mean the same.
        skip_preprocess: must be left out; for Catalyst.
        collect_decomp_rules: must be left out; for Catalyst.
        link: must be left out: `target="llvmir"` stops before the linker.
        lower_to_llvm: must be left out: `target="mlir"` stops before LLVM.
        checkpoint_stage: must be left out: `diastase.debug.replace_ir` goes on from a stage.
        dynamic_dims: with "auto", a size that changes between calls is known at run time only from
            then on.
        counts: what `qml.counts` gives: "dict", as in PennyLane, or "arrays", all outcomes and how
            often each was found, as in Catalyst.
        precision: with "single", amplitudes of all QNodes are complex64 (else of those whose device
            has `c_dtype=np.complex64`): states are complex64, probabilities float32.
        target_device: with "gpu", state vectors are on an NVIDIA GPU; with "auto", where there is
            one (`docs/gpu.md`). All else, and everything with "cpu", is on the processor.
        method: by which method QNodes without their own (`set_method`) are simulated:
            "statevector", "density", "trajectories", "clifford" or "automatic"; by default as their
            devices say.
        trajectories: how many are averaged where there are no shots, by default 1000.

    Returns:
        A `QJIT`, called with pytrees of arrays and numbers: booleans, integers of 8 to 64 bits,
        floats of 16 to 64 and complex numbers, of any shapes. Results are likewise, as `jax.Array`s
        of the dtypes that `jax.jit` would give.

    Raises:
        NotCallableError: a `TypeError`, for what is no function.
        InvalidOptionError: a `ValueError`, for a value that an option does not take;
            `UnsupportedOptionError`, `UnknownOptionError`, `ConflictingOptionsError` likewise.
        UnsupportedArgumentError: a `TypeError`, in a call, for arguments that are no arrays, unless
            they are static.
        UnsupportedResultError: a `TypeError`, in a call, for results that are no arrays.
        CompileError: in a call, for a program that cannot be compiled. Whatever goes wrong is a
            `DiastaseError` that names the line (`docs/errors.md`).

    Example:
        >>> from diastase import qjit
        >>> @qjit
        ... def f(x: float):
        ...     return x * 2
        >>> f(1.5)
        Array(3., dtype=float64, weak_type=True)

    """

    def decorate(function: Callable[..., Any]) -> QJIT:
        function = function.original_function if isinstance(function, QJIT) else function
        return QJIT(function, QjitOptions(**options))

    return decorate if fn is None else decorate(fn)


qjit.__signature__ = inspect.Signature(  # pyright: ignore[reportFunctionMemberAccess]
    [
        inspect.Parameter("fn", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None),
        *option_parameters(),
    ]
)
