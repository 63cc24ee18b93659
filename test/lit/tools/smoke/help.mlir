// RUN: xir-opt --help | filecheck %s

// CHECK: usage: xir-opt
// CHECK: --pass-pipeline
// CHECK: passes:
// CHECK: --canonicalize
// CHECK-NEXT: Simplify each op
// CHECK: pipelines:
