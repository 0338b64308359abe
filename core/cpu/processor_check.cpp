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
  char data[512];  // ends with 0
  size_t size;
};

void append(Text& text, const char* more) {
  const size_t size = strlen(more);
  if (text.size + size >= sizeof text.data) return;
  memcpy(text.data + text.size, more, size);
  text.size += size;
}

void need(Text& lacking, bool needed, bool has, const char* feature) {
  if (!needed || has) return;
  if (lacking.size != 0) append(lacking, ", ");
  append(lacking, feature);
}

bool has_bit(unsigned leaf, unsigned bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(leaf, &a, &b, &c, &d) != 0 && (c >> bit & 1) != 0;
}

// TANDEM_NEEDS_x is 1 for what the compiler may use elsewhere in the library, otherwise 0.
void list_lacking(Text& lacking) {
  __builtin_cpu_init();
  need(lacking, TANDEM_NEEDS_POPCNT, __builtin_cpu_supports("popcnt"), "POPCNT");
  need(lacking, TANDEM_NEEDS_SSE4_2, __builtin_cpu_supports("sse4.2"), "SSE4.2");
  need(lacking, TANDEM_NEEDS_PCLMUL, __builtin_cpu_supports("pclmul"), "PCLMULQDQ");
  need(lacking, TANDEM_NEEDS_AVX, __builtin_cpu_supports("avx"), "AVX");
  need(lacking, TANDEM_NEEDS_AVX2, __builtin_cpu_supports("avx2"), "AVX2");
  need(lacking, TANDEM_NEEDS_FMA, __builtin_cpu_supports("fma"), "FMA");
  need(lacking, TANDEM_NEEDS_F16C, has_bit(1, 29), "F16C");
  need(lacking, TANDEM_NEEDS_BMI, __builtin_cpu_supports("bmi"), "BMI1");
  need(lacking, TANDEM_NEEDS_BMI2, __builtin_cpu_supports("bmi2"), "BMI2");
  need(lacking, TANDEM_NEEDS_LZCNT, has_bit(0x80000001, 5), "LZCNT");
  need(lacking, TANDEM_NEEDS_MOVBE, has_bit(1, 22), "MOVBE");
  need(lacking, TANDEM_NEEDS_AVX512F, __builtin_cpu_supports("avx512f"), "AVX512F");
  need(lacking, TANDEM_NEEDS_AVX512BW, __builtin_cpu_supports("avx512bw"), "AVX512BW");
  need(lacking, TANDEM_NEEDS_AVX512CD, __builtin_cpu_supports("avx512cd"), "AVX512CD");
  need(lacking, TANDEM_NEEDS_AVX512DQ, __builtin_cpu_supports("avx512dq"), "AVX512DQ");
  need(lacking, TANDEM_NEEDS_AVX512VL, __builtin_cpu_supports("avx512vl"), "AVX512VL");
  need(lacking, TANDEM_NEEDS_AVX512VBMI, __builtin_cpu_supports("avx512vbmi"), "AVX512_VBMI");
  need(lacking, TANDEM_NEEDS_AVX512VBMI2, __builtin_cpu_supports("avx512vbmi2"), "AVX512_VBMI2");
  need(lacking, TANDEM_NEEDS_VPCLMULQDQ, __builtin_cpu_supports("vpclmulqdq"), "VPCLMULQDQ");
  need(lacking, TANDEM_NEEDS_GFNI, __builtin_cpu_supports("gfni"), "GFNI");
}

}  // namespace

// kernel_sets.cpp refers to it: nothing else would take this file from a static library.
extern "C" [[gnu::visibility("hidden"), gnu::constructor(101)]] void tandem_check_processor() {
  Text lacking{};
  list_lacking(lacking);
  if (lacking.size == 0) return;
  Text message{};
  append(message, "tandem: this processor lacks ");
  append(message, lacking.data);
  append(message,
         ", for which the library was built; build it on this machine, or with -Dcpu=dispatch for\n"
         "processors with AVX2, or with -Dcpu=x86-64-v2 for older ones\n");
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data, message.size);
  _exit(127);
}
