// A user's program with a model: links tandem_models, too.
#include <tandem/models/models.h>

#include <cstdio>

int main() {
  long long parameters = 0;
  for (const tandem::Tensor& p : tandem::models::resnet18(10)->parameters()) parameters += p.numel();
  std::printf("%lld parameters\n", parameters);
}
