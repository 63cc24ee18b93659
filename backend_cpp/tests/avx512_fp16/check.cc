// Executes the instructions that the emulator knows, and compares what they give with sums and
// products of 113 bits that are rounded once. Where the processor has AVX512-FP16 itself, it is
// that which is compared.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>

namespace {

using Half = _Float16;
using Wide = __float128;

struct alignas(64) Vector {
  Half lanes[32];
};

struct Registers {
  Vector destination, first, second;
  uint32_t mask;
};

struct Form {
  const char* text;
  void (*execute)(Registers*);
  int lanes;
  bool broadcast;
  bool masked;
  bool zeroing;
};

// Registers of both halves of the file, addresses with and without index, displacements of one byte
// and of four.
#define XIR_FORM(name, text)                                                             \
  void name(Registers* registers) {                                                      \
    const int64_t one = 1;                                                               \
    asm volatile(                                                                        \
        "vmovdqu64 (%0), %%zmm17; vmovdqu64 64(%0), %%zmm5; vmovdqu64 128(%0), %%zmm30;" \
        "kmovd 192(%0), %%k3;" text "; vmovdqu64 %%zmm17, (%0)"                          \
        :                                                                                \
        : "r"(registers), "r"(one)                                                       \
        : "memory", "xmm5", "xmm17", "xmm30", "k3", "k4", "eax");                        \
  }

#define XIR_FORMS(op, p, s)                                       \
  XIR_FORM(op##_zmm, #op p " %%zmm30, %%zmm5, %%zmm17")           \
  XIR_FORM(op##_ymm, #op p " %%ymm30, %%ymm5, %%ymm17")           \
  XIR_FORM(op##_xmm, #op p " %%xmm30, %%xmm5, %%xmm17")           \
  XIR_FORM(op##_scalar, #op s " %%xmm30, %%xmm5, %%xmm17")        \
  XIR_FORM(op##_memory, #op p " 128(%0), %%zmm5, %%zmm17")        \
  XIR_FORM(op##_index, #op p " 120(%0, %1, 8), %%zmm5, %%zmm17")  \
  XIR_FORM(op##_one, #op p " 128(%0)%{1to32%}, %%zmm5, %%zmm17")  \
  XIR_FORM(op##_merge, #op p " %%zmm30, %%zmm5, %%zmm17%{%%k3%}") \
  XIR_FORM(op##_zero, #op p " 128(%0), %%zmm5, %%zmm17%{%%k3%}%{z%}")

#define XIR_TABLE(op, p, s)                                    \
  {#op p " zmm", op##_zmm, 32, false, false, false},           \
      {#op p " ymm", op##_ymm, 16, false, false, false},       \
      {#op p " xmm", op##_xmm, 8, false, false, false},        \
      {#op s, op##_scalar, 1, false, false, false},            \
      {#op p " memory", op##_memory, 32, false, false, false}, \
      {#op p " index", op##_index, 32, false, false, false},   \
      {#op p " {1to32}", op##_one, 32, true, false, false},    \
      {#op p " {k}", op##_merge, 32, false, true, false}, {    \
#op p " {k}{z}", op##_zero, 32, false, true, true          \
  }

XIR_FORMS(vadd, "ph", "sh")
XIR_FORMS(vsub, "ph", "sh")
XIR_FORMS(vmul, "ph", "sh")
XIR_FORMS(vdiv, "ph", "sh")
XIR_FORMS(vmin, "ph", "sh")
XIR_FORMS(vmax, "ph", "sh")
XIR_FORMS(vfmadd132, "ph", "sh")
XIR_FORMS(vfmadd213, "ph", "sh")
XIR_FORMS(vfmadd231, "ph", "sh")
// A comparison's mask becomes lanes of ones and zeros.
#define XIR_COMPARE(name, predicate) \
  XIR_FORM(name, "vcmpph $" #predicate ", %%zmm30, %%zmm5, %%k4; vpmovm2w %%k4, %%zmm17")
XIR_COMPARE(compare_equal, 0)
XIR_COMPARE(compare_less, 17)
XIR_COMPARE(compare_less_or_equal, 18)
XIR_COMPARE(compare_not_equal, 4)
XIR_COMPARE(compare_greater, 30)
XIR_FORM(reciprocal, "vrcpph %%zmm30, %%zmm17")

using Reference = Half (*)(Half destination, Half a, Half b);
struct Case {
  Form form;
  Reference reference;
};

Half Add(Half, Half a, Half b) { return static_cast<Half>(Wide{a} + Wide{b}); }
Half Subtract(Half, Half a, Half b) { return static_cast<Half>(Wide{a} - Wide{b}); }
Half Multiply(Half, Half a, Half b) { return static_cast<Half>(Wide{a} * Wide{b}); }
Half Divide(Half, Half a, Half b) { return static_cast<Half>(Wide{a} / Wide{b}); }
Half Minimum(Half, Half a, Half b) { return Wide{a} < Wide{b} ? a : b; }
Half Maximum(Half, Half a, Half b) { return Wide{a} > Wide{b} ? a : b; }
Half Fused132(Half d, Half a, Half b) { return static_cast<Half>(Wide{d} * Wide{b} + Wide{a}); }
Half Fused213(Half d, Half a, Half b) { return static_cast<Half>(Wide{a} * Wide{d} + Wide{b}); }
Half Fused231(Half d, Half a, Half b) { return static_cast<Half>(Wide{a} * Wide{b} + Wide{d}); }

Half Ones(bool yes) {
  const uint16_t bits = yes ? 0xFFFF : 0;
  Half half;
  std::memcpy(&half, &bits, sizeof half);
  return half;
}
Half Equal(Half, Half a, Half b) { return Ones(Wide{a} == Wide{b}); }
Half Less(Half, Half a, Half b) { return Ones(Wide{a} < Wide{b}); }
Half LessOrEqual(Half, Half a, Half b) { return Ones(Wide{a} <= Wide{b}); }
Half NotEqual(Half, Half a, Half b) { return Ones(Wide{a} != Wide{b}); }
Half Greater(Half, Half a, Half b) { return Ones(Wide{a} > Wide{b}); }

const struct {
  Form forms[9];
  Reference reference;
} kArithmetic[] = {
    {{XIR_TABLE(vadd, "ph", "sh")}, Add},           {{XIR_TABLE(vsub, "ph", "sh")}, Subtract},
    {{XIR_TABLE(vmul, "ph", "sh")}, Multiply},      {{XIR_TABLE(vdiv, "ph", "sh")}, Divide},
    {{XIR_TABLE(vmin, "ph", "sh")}, Minimum},       {{XIR_TABLE(vmax, "ph", "sh")}, Maximum},
    {{XIR_TABLE(vfmadd132, "ph", "sh")}, Fused132}, {{XIR_TABLE(vfmadd213, "ph", "sh")}, Fused213},
    {{XIR_TABLE(vfmadd231, "ph", "sh")}, Fused231},
};

const Case kComparisons[] = {
    {{"vcmpeqph", compare_equal, 32, false, false, false}, Equal},
    {{"vcmplt_oqph", compare_less, 32, false, false, false}, Less},
    {{"vcmple_oqph", compare_less_or_equal, 32, false, false, false}, LessOrEqual},
    {{"vcmpneqph", compare_not_equal, 32, false, false, false}, NotEqual},
    {{"vcmpgt_oqph", compare_greater, 32, false, false, false}, Greater},
};

bool Same(Half x, Half y) { return (x != x && y != y) || std::memcmp(&x, &y, sizeof x) == 0; }

Registers Draw(std::mt19937& random) {
  static const uint16_t kSpecial[] = {0,      0x8000, 1,      0x3FF,  0x400,
                                      0x3C00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00};
  Registers registers;
  // Halves of any bits, and halves near one another, whose sums cancel.
  const bool near = random() % 2 == 0;
  uint16_t bits[96];
  for (uint16_t& each : bits) {
    each = static_cast<uint16_t>(near ? 0x3800 | (random() & 0x87FF) : random());
    if (random() % 8 == 0) each = kSpecial[random() % 10];
  }
  std::memcpy(&registers, bits, sizeof bits);
  registers.mask = static_cast<uint32_t>(random());
  return registers;
}

Half Expected(const Form& form, Reference reference, const Registers& before, int lane) {
  const Half destination = before.destination.lanes[lane];
  if (lane >= form.lanes) return form.lanes == 1 && lane < 8 ? before.first.lanes[lane] : Half{0};
  if (form.masked && (before.mask >> lane & 1) == 0) return form.zeroing ? Half{0} : destination;
  return reference(destination, before.first.lanes[lane],
                   before.second.lanes[form.broadcast ? 0 : lane]);
}

int Check(const Form& form, Reference reference, std::mt19937& random) {
  for (int round = 0; round < 500; ++round) {
    const Registers before = Draw(random);
    Registers after = before;
    form.execute(&after);
    for (int lane = 0; lane < 32; ++lane) {
      const Half expected = Expected(form, reference, before, lane);
      const Half found = after.destination.lanes[lane];
      if (Same(expected, found)) continue;
      std::printf("%s: lane %d of %a, %a, %a is %a, expected %a\n", form.text, lane,
                  static_cast<double>(before.destination.lanes[lane]),
                  static_cast<double>(before.first.lanes[lane]),
                  static_cast<double>(before.second.lanes[form.broadcast ? 0 : lane]),
                  static_cast<double>(found), static_cast<double>(expected));
      return 1;
    }
  }
  return 0;
}

int CheckReciprocals(std::mt19937& random) {
  const double bound = std::ldexp(1, -11) + std::ldexp(1, -14);
  for (int round = 0; round < 500; ++round) {
    const Registers before = Draw(random);
    Registers after = before;
    reciprocal(&after);
    for (int lane = 0; lane < 32; ++lane) {
      const auto x = static_cast<double>(before.second.lanes[lane]);
      const auto found = static_cast<double>(after.destination.lanes[lane]);
      const bool normal = std::fabs(1 / x) >= std::ldexp(1, -14) && std::fabs(1 / x) < 65504;
      if (normal ? std::fabs(found * x - 1) <= bound : std::isnan(x) == std::isnan(found)) continue;
      std::printf("vrcpph: of %a is %a\n", x, found);
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main() {
  std::mt19937 random(1);
  int wrong = CheckReciprocals(random);
  int forms = 1;
  for (const auto& each : kArithmetic) {
    for (const Form& form : each.forms) {
      wrong += Check(form, each.reference, random);
      ++forms;
    }
  }
  for (const Case& each : kComparisons) {
    wrong += Check(each.form, each.reference, random);
    ++forms;
  }
  std::printf("%d forms of instructions, %d wrong\n", forms, wrong);
  return wrong == 0 ? 0 : 1;
}
