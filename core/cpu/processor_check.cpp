// Ends the process with a message, instead of by an illegal instruction, on a processor that lacks what the
// library is compiled for.
//
// This is the library's first constructor, and compiled for every processor. It calls functions of C only: the
// copy of an inline function that the linker keeps may be one that is compiled for more.
#include <cpuid.h>
#include <string.h>
#include <unistd.h>

namespace {

struct Text {
  char data[512];
  size_t size;
};

void append(Text& text, const char* more) {
  const size_t size = strlen(more);
  if (text.size + size > sizeof text.data) return;
  memcpy(text.data + text.size, more, size);
  text.size += size;
}

[[maybe_unused]] void need(Text& lacking, bool has, const char* feature) {
  if (has) return;
  if (lacking.size != 0) append(lacking, ", ");
  append(lacking, feature);
}

[[maybe_unused]] bool has_bit(unsigned leaf, unsigned bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(leaf, &a, &b, &c, &d) != 0 && (c >> bit & 1) != 0;
}

// TANDEM_NEEDS_x is defined for what the compiler may use elsewhere in the library.
void list_lacking(Text& lacking) {
  __builtin_cpu_init();
#ifdef TANDEM_NEEDS_POPCNT
  need(lacking, __builtin_cpu_supports("popcnt"), "POPCNT");
#endif
#ifdef TANDEM_NEEDS_SSE4_2
  need(lacking, __builtin_cpu_supports("sse4.2"), "SSE4.2");
#endif
#ifdef TANDEM_NEEDS_PCLMUL
  need(lacking, __builtin_cpu_supports("pclmul"), "PCLMULQDQ");
#endif
#ifdef TANDEM_NEEDS_AVX
  need(lacking, __builtin_cpu_supports("avx"), "AVX");
#endif
#ifdef TANDEM_NEEDS_AVX2
  need(lacking, __builtin_cpu_supports("avx2"), "AVX2");
#endif
#ifdef TANDEM_NEEDS_FMA
  need(lacking, __builtin_cpu_supports("fma"), "FMA");
#endif
#ifdef TANDEM_NEEDS_F16C
  need(lacking, has_bit(1, 29), "F16C");
#endif
#ifdef TANDEM_NEEDS_BMI
  need(lacking, __builtin_cpu_supports("bmi"), "BMI1");
#endif
#ifdef TANDEM_NEEDS_BMI2
  need(lacking, __builtin_cpu_supports("bmi2"), "BMI2");
#endif
#ifdef TANDEM_NEEDS_LZCNT
  need(lacking, has_bit(0x80000001, 5), "LZCNT");
#endif
#ifdef TANDEM_NEEDS_MOVBE
  need(lacking, has_bit(1, 22), "MOVBE");
#endif
#ifdef TANDEM_NEEDS_AVX512F
  need(lacking, __builtin_cpu_supports("avx512f"), "AVX512F");
#endif
#ifdef TANDEM_NEEDS_AVX512BW
  need(lacking, __builtin_cpu_supports("avx512bw"), "AVX512BW");
#endif
#ifdef TANDEM_NEEDS_AVX512CD
  need(lacking, __builtin_cpu_supports("avx512cd"), "AVX512CD");
#endif
#ifdef TANDEM_NEEDS_AVX512DQ
  need(lacking, __builtin_cpu_supports("avx512dq"), "AVX512DQ");
#endif
#ifdef TANDEM_NEEDS_AVX512VL
  need(lacking, __builtin_cpu_supports("avx512vl"), "AVX512VL");
#endif
#ifdef TANDEM_NEEDS_AVX512VBMI
  need(lacking, __builtin_cpu_supports("avx512vbmi"), "AVX512_VBMI");
#endif
#ifdef TANDEM_NEEDS_AVX512VBMI2
  need(lacking, __builtin_cpu_supports("avx512vbmi2"), "AVX512_VBMI2");
#endif
#ifdef TANDEM_NEEDS_VPCLMULQDQ
  need(lacking, __builtin_cpu_supports("vpclmulqdq"), "VPCLMULQDQ");
#endif
#ifdef TANDEM_NEEDS_GFNI
  need(lacking, __builtin_cpu_supports("gfni"), "GFNI");
#endif
}

}  // namespace

// kernel_sets.cpp refers to it: nothing else would take this file from a static library.
extern "C" [[gnu::visibility("hidden"), gnu::constructor(101)]] void tandem_check_processor() {
  Text lacking{};
  list_lacking(lacking);
  if (lacking.size == 0) return;
  Text message{};
  append(message, "tandem: this processor lacks ");
  lacking.data[lacking.size < sizeof lacking.data ? lacking.size : sizeof lacking.data - 1] = '\0';
  append(message, lacking.data);
  append(message,
         ", for which the library was built; build it on this machine, or with -Dcpu=dispatch for\n"
         "processors with AVX2, or with -Dcpu=x86-64-v2 for older ones\n");
  if (write(STDERR_FILENO, message.data, message.size) < 0) _exit(127);
  _exit(127);
}
