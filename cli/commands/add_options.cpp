// The options that several commands have.
#include "tandem/cli/commands/add_options.h"

namespace tandem::cli {

void begin_group(CLI::App* c, const char* title) { c->option_defaults()->group(title); }

void add_key(CLI::App* c, std::string& key) {
  add_text(c, "--key", key, "NAME", "the state dict in a .pt file with more, such as state_dict or model.ema");
}

void add_device(CLI::App* c, std::string& device) {
  add_text(c, "--device,--devices", device, kDeviceType,
           "device to use, such as cpu:0 or cuda:0; default: the best available");
}

void add_weights_bits(CLI::App* c, int64_t& bits) {
  c->add_option("--weights-bits", bits,
                "8: weights of linear layers and embeddings as integers of one byte, with a scale for 64 of them")
      ->option_text("8")
      ->check(CLI::IsMember({8}));
}

void add_recipe(CLI::App* c, RecipeOptions& r, const std::string& usual) {
  add_choice(c, "recipe", r.name,
             "source: plain SGD, as in the programs of examples/; best: AdamW with a cosine schedule; images: SGD "
             "with momentum, a cosine schedule and augmentation; text: AdamW with a warm-up and a cosine schedule. "
             "Other options override parts of it")
      ->default_str(usual);
  add_number(c, "--batch-size", r.batch_size, kBatchSizes,
             "images, or examples of a text, per batch; source: 256, best: 64, images: 128, text: 32, or 8 with "
             "--weights");
  add_number(c, "--lr", r.lr, Range<double>{0, 1e6, true},
             "learning rate for the mean loss. Default: one with which the optimizer learns in this recipe, lower for "
             "smaller batches; see docs/guide/tool.md");
  add_choice(c, "optimizer", r.optimizer,
             "source, images: sgd; best, text: adamw. Learning rate, momentum and weight decay go with it");
  add_number(c, "--momentum", r.momentum, Range<double>{0, 1},
             "momentum of sgd, which it implies; below 1; source: 0, else 0.9");
  add_number(c, "--weight-decay", r.weight_decay, Range<double>{0, 1e6},
             "weight decay; adamw: 0.05, text: 0.1; sgd: 0.0005, source and text: 0");
  add_choice(c, "decay", r.decay, "what decays: all parameters, or matrices, those with at least two dimensions");
  add_number(c, "--label-smoothing", r.label_smoothing, Range<double>{0, 1},
             "label smoothing of the training loss, below 1; source: 0, best: 0.05");
  add_number(c, "--warmup", r.warmup, Range<double>{0, 1},
             "share of all steps in which the learning rate rises to --lr, below 1; text: 0.05");
  add_choice(c, "schedule", r.schedule, "constant, or cosine: from --lr to 0 over all steps");
  add_choice(c, "init", r.init,
             "normal: weights with standard deviation 0.01; default: the layers' default initialisation");
  add_number(c, "--accumulate", r.accumulate, Range<int64_t>{1, kMaxAccumulated},
             "batches whose gradients are added before each step, as if --batch-size were as many times as "
             "large; default: 1");
  add_number(c, "--clip", r.clip, Range<double>{0, 1e9},
             "scale the gradients down to this norm, taken of all of them together, if it is larger; 0: "
             "never; text: 1");
  add_number(c, "--ema", r.ema, Range<double>{0, 1},
             "below 1: also keep a moving average of parameters and running statistics with this decay per step, such "
             "as 0.999, which it rises to; it is evaluated, and saved as the run's model");
  add_choice(c, "precision", r.precision,
             "fp32; tf32: products and convolutions on GPUs round float32 to 10 mantissa bits; bf16: products, "
             "convolutions and attention compute in bfloat16, everything else and all parameters stay float32; "
             "fp16: the same in float16, with a scaled loss. eval and predict compute in it, too; default: fp32");
  add_text(c, "--freeze", r.freeze, "PATTERN",
           "parameters that do not train: names of parameters or layers, separated by commas, with * for "
           "any text; or all-but-head: all but the last layer. A frozen batch normalisation also uses and "
           "keeps its running statistics");
}

void add_reproducible(CLI::App* c, TrainOptions& o) {
  add_text(
      c, "--reproducible", o.reproducible, "off|on|strict",
      "how much may depend on the processor. strict: nothing; cpu:0 and cuda:0 then compute the same bits, and what "
      "cannot is refused. A resumed or verified run keeps its own. Default: TANDEM_REPRODUCIBLE, or off");
}

void add_augment(CLI::App* c, RecipeOptions& r) {
  add_choice(c, "augment", r.augment,
             "none; flip: mirror half of the training images; crop: also shift them by up to an eighth of their "
             "size; resized-crop: cut out rectangles of any size, the default of the recipe images for image files; "
             "randaugment: also two random changes of shape and colour");
}

}  // namespace tandem::cli
