// tandem: the command line tool. Mistakes of the caller end with one line and 2, failures with one line
// and 1.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "tandem/cli/options.h"
#include "tandem/core/suggest.h"

namespace tandem::cli {
namespace {

// The options of a command, for suggestions.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

int mistake(const std::string& prefix, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", prefix.c_str(), text.c_str());
  return 2;
}

// CLI11's words for a wrong command line, in one line that names the command.
int parse_error(const CLI::App& app, const CLI::ParseError& error, const char* first_word) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string prefix = chosen.empty() ? "tandem" : "tandem " + command.get_name();
  std::vector<std::string> extra = app.remaining(true);
  if (chosen.empty() && first_word != nullptr && *first_word != '\0') extra = {first_word};
  if ((chosen.empty() || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) && !extra.empty()) {
    std::string word = extra.front();
    if (chosen.empty() && !word.starts_with("-"))
      return mistake(prefix, "unknown command " + word + did_you_mean(word, command_names(app)) +
                                 " (see tandem --help)");
    word = word.substr(0, word.find('='));
    return mistake(prefix, (word.starts_with("-") ? "unknown option " : "unexpected argument ") + word +
                               did_you_mean(word, option_names(command)) + " (see " + prefix + " --help)");
  }
  std::string text = error.what();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return mistake(prefix, text);
}

void add_train(CLI::App& app, TrainOptions& o) {
  CLI::App* c =
      app.add_subcommand("train",
                         "train a model; in the run's folder: config.json, metrics.jsonl, curve.svg, "
                         "checkpoint.safetensors, model.safetensors");
  c->add_option("--model", o.model, "what to train: see tandem summary --help")->capture_default_str();
  c->add_option("--data", o.data, "fashion-mnist, mnist, or a folder of IDX files")->capture_default_str();
  c->add_option("--devices", o.devices, "cpu:0, cuda:0, …; default: the best present")->delimiter(',');
  c->add_option("--epochs", o.epochs, "passes over the training images")->capture_default_str();
  RecipeOptions& r = o.recipe;
  c->add_option("--recipe", r.name,
                "source: plain SGD as published; best: AdamW with a cosine schedule. The options "
                "below change parts of it")
      ->capture_default_str();
  c->add_option("--batch-size", r.batch_size, "images a step; source: 256, best: 64");
  c->add_option("--lr", r.lr, "learning rate on the mean loss; source: 0.2, best: 0.003");
  c->add_option("--optimizer", r.optimizer, "sgd or adamw");
  c->add_option("--momentum", r.momentum, "of sgd; default: 0");
  c->add_option("--weight-decay", r.weight_decay, "source: 0, best: 0.05");
  c->add_option("--label-smoothing", r.label_smoothing, "of the training loss; default: 0, best 0.05");
  c->add_option("--schedule", r.schedule, "constant, or cosine: from --lr to 0 over all steps");
  c->add_option("--init", r.init, "normal: weights of standard deviation 0.01; default: the layers' own");
  c->add_option("--augment", r.augment, "none, or flip: half of the training images mirrored");
  c->add_option("--seed", o.seed, "of parameters and order; the same seed gives the same bits")
      ->capture_default_str();
  c->add_option("--threads", o.threads, "CPU threads; 0: all cores. The result does not depend on it")
      ->capture_default_str();
  c->add_option("--workers", o.workers, "threads that load batches ahead; the result does not depend on it")
      ->capture_default_str();
  c->add_option("--save-every", o.save_every, "seconds between checkpoints within an epoch")
      ->capture_default_str();
  c->add_option("--out", o.out, "folder of the run; default: runs/MODEL-DATA, numbered");
  c->add_option("--resume", o.resume, "go on with the run in this folder, as if it had never stopped");
  c->callback([c, &o] {
    for (const CLI::Option* option : c->get_options())
      if (option->count() > 0) o.given.push_back(option->get_lnames().front());
  });
}

int run(int argc, char** argv) {
  CLI::App app("Tandem: train and use small networks, on CPU and GPU", "tandem");
  app.set_version_flag("--version", "tandem " TANDEM_VERSION);
  app.require_subcommand(1);
  TrainOptions train;
  add_train(app, train);
  EvalOptions eval;
  CLI::App* c = app.add_subcommand("eval", "loss and accuracy of a trained run on its test images");
  c->add_option("DIR", eval.folder, "folder of the run")->required();
  c->add_option("--data", eval.data, "another data set than the run's");
  c->add_option("--device", eval.device, "default: the best present");
  c->add_option("--batch-size", eval.batch_size, "images a step")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  c->add_option("--threads", eval.threads, "CPU threads; 0: all cores")->capture_default_str();
  c->add_flag("--json", eval.json, "print one line of JSON");
  PredictOptions predict;
  c = app.add_subcommand("predict", "classes of pictures, by a trained run");
  c->add_option("DIR", predict.folder, "folder of the run")->required();
  c->add_option("IMAGE", predict.images, "PNG, PGM or PPM files")->required();
  c->add_option("--device", predict.device, "default: the best present");
  c->add_option("--top", predict.top, "classes shown for each picture")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  c->add_flag("--invert", predict.invert,
              "for pictures that are dark on light: the data sets are light on dark");
  SummaryOptions summary;
  c = app.add_subcommand("summary", "layers of a model: output shape, parameters, bytes, operations");
  c->add_option("--model", summary.model, "lenet, mlp or linear")->capture_default_str();
  c->add_option("--input", summary.input, "channels,height,width of a picture")->delimiter(',')->expected(3);
  c->add_option("--classes", summary.classes, "number of classes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  c->add_option("--batch-size", summary.batch_size, "images a step")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  CLI::App* devices = app.add_subcommand("devices", "devices that can be used, and what they stand on");

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return parse_error(app, error, argc > 1 ? argv[1] : nullptr);
  }
  if (app.got_subcommand("train")) return train_command(train);
  if (app.got_subcommand("eval")) return eval_command(eval);
  if (app.got_subcommand("predict")) return predict_command(predict);
  if (app.got_subcommand("summary")) return summary_command(summary);
  (void)devices;
  return devices_command();
}

}  // namespace
}  // namespace tandem::cli

int main(int argc, char** argv) {
  try {
    return tandem::cli::run(argc, argv);
  } catch (const tandem::cli::UsageError& error) {
    std::fprintf(stderr, "tandem: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem: %s\n", error.what());
    return 1;
  }
}
