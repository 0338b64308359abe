// A user's program that encodes a text: links tandem_text, too.
#include <tandem/datasets/text/byte_pair.h>

#include <cstdio>

int main() {
  const tandem::text::CharTokenizer tokenizer("hello");
  std::printf("%zu words, %lld characters\n", tandem::text::split_words("hello world").size(),
              static_cast<long long>(tokenizer.size()));
}
