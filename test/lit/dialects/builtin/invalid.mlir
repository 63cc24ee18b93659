// RUN: xir-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

// expected-error @+1 {{expected an operation}}
}

// -----

// expected-error @+1 {{'func.fuc': the dialect 'func' has no such operation}}
func.fuc @f()

// -----

// expected-error @+1 {{'some.op' is unregistered and has no custom form, only the generic}}
some.op

// -----

// expected-error @+1 {{'%x' is used but never defined}}
"test.op"(%x) : (i32) -> ()

// -----

func.func @f(%x: i32) {
  // expected-error @+1 {{'%x' is used with type i64, but it is i32}}
  "test.op"(%x) : (i64) -> ()
  func.return
}

// -----

// expected-note @+1 {{previously defined here}}
%x = "test.op"() : () -> i32
// expected-error @+1 {{redefinition of SSA value '%x'}}
%x = "test.op"() : () -> i32

// -----

// expected-note @+1 {{the symbol is already defined here}}
func.func @twice() {
  func.return
}
// expected-error @+1 {{redefinition of the symbol 'twice'}}
func.func @twice() {
  func.return
}

// -----

// expected-error @+1 {{'test.op' has 1 results, but 2 are bound}}
%x:2 = "test.op"() : () -> i32

// -----

%x:2 = "test.op"() : () -> (i32, i32)
// expected-error @+1 {{'%x' has only 2 results}}
"test.op"(%x#2) : (i32) -> ()

// -----

// expected-error @+1 {{a literal of shape [2] for a constant of shape [3]}}
"test.op"() {value = dense<[1, 2]> : tensor<3xi32>} : () -> ()

// -----

// expected-error @+1 {{the literal has more bits than f32}}
"test.op"() {value = dense<[0x1FFFFFFFF]> : tensor<1xf32>} : () -> ()

// -----

// expected-error @+1 {{the data of a constant is pairs of hex digits after 0x}}
"test.op"() {value = dense<"0xZZ"> : tensor<1xi8>} : () -> ()

// -----

// expected-error @+1 {{unclosed string}}
"test.op"() {value = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa} : () -> ()

// -----

// expected-error @+1 {{undefined attribute alias '#nowhere'}}
"test.op"() : () -> () loc(#nowhere)

// -----

// expected-error @+1 {{undefined attribute alias '#itself'}}
#itself = loc(fused[#itself])
"test.op"() : () -> () loc(#itself)

// -----

#number = 1 : i32
// expected-error @+1 {{'#number' is not a location}}
"test.op"() : () -> () loc(#number)

// -----

// expected-error @+1 {{the first 8 are the alignment}}
{-# dialect_resources: { builtin: { a: "0x00" } } #-}

// -----

// expected-error @+1 {{a resource's alignment is a power of two, got 3}}
{-# dialect_resources: { builtin: { a: "0x0300000000" } } #-}

// -----

// expected-error @+1 {{a resource is made of pairs of hex digits}}
{-# dialect_resources: { builtin: { a: "0x01000000ABC" } } #-}

// -----

// expected-error @+1 {{dialect nothing is not registered}}
{-# dialect_resources: { nothing: { a: "0x01000000AB" } } #-}

// -----

// expected-error @+1 {{expected a string or a boolean as the value of an external resource}}
{-# external_resources: { mlir_reproducer: { pipeline: 3 } } #-}

// -----

// Dominance, which xDSL does not verify.
func.func @use_before_definition() {
  // expected-error @+1 {{'test.use' op operand #0 does not dominate this use}}
  "test.use"(%x) : (i32) -> ()
  // expected-note @+1 {{operand defined here}}
  %x = "test.op"() : () -> i32
  func.return
}

// -----

func.func @one_branch_only() {
  "test.br"() [^a, ^b] : () -> ()
^a:
  // expected-note @+1 {{operand defined here}}
  %x = "test.op"() : () -> i32
  "test.br"() [^c] : () -> ()
^b:
  "test.br"() [^c] : () -> ()
^c:
  // expected-error @+1 {{'test.use' op operand #0 does not dominate this use}}
  "test.use"(%x) : (i32) -> ()
  func.return
}

// -----

func.func @block_that_is_declared_twice() {
  "test.br"() [^a] : () -> ()
// expected-note @+1 {{it is here}}
^a:
// expected-error @+1 {{re-declaration of block 'a'}}
^a:
  func.return
}

// -----

// expected-error @+1 {{'func.func' op has an empty block, which needs a terminator}}
"func.func"() <{sym_name = "f", function_type = () -> ()}> ({
^bb0:
}) : () -> ()

// -----

func.func @no_terminator() {
  // expected-error @+1 {{'edge.constant' op ends a block but is no terminator}}
  %0 = edge.constant dense<1.0> : tensor<1xf32>
}

// -----

func.func @returns(%x: i32) -> i32 {
  // expected-error @+1 {{'func.return' op Expected arguments to have the same types as the function output types}}
  func.return
}
