// tandem: the command-line tool. Usage errors print one line and exit with code 2, failures with code 1.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "tandem/cli/message.h"
#include "tandem/cli/numbers.h"
#include "tandem/cli/options.h"
#include "tandem/cli/train/team.h"
#include "tandem/core/base/suggest.h"
#include "tandem/models/published.h"

namespace tandem::cli {
namespace {

// Option names of a command, for suggestions.
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
  print_error(prefix, text);
  return 2;
}

// Reports an option that was given more than once, in fewer words than CLI11.
std::string count_error(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const int given = static_cast<int>(option->count()), most = option->get_expected_max();
    const std::string name = option->get_lnames().empty() ? option->get_name() : "--" + option->get_lnames().front();
    if (most == 1 && given > 1) return name + ": given more than once";
  }
  return "";
}

// Prints CLI11's message for an invalid command line as one line that names the command.
int parse_error(const CLI::App& app, const CLI::ParseError& error, const char* first_word) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string prefix = chosen.empty() ? "tandem" : "tandem " + command.get_name();
  std::vector<std::string> extra = app.remaining(true);
  if (chosen.empty() && first_word != nullptr && *first_word != '\0') extra = {first_word};
  if ((chosen.empty() || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) && !extra.empty()) {
    std::string word = extra.front();
    if (chosen.empty() && !word.starts_with("-"))
      return mistake(prefix,
                     "unknown command " + word + did_you_mean(word, command_names(app)) + " (see tandem --help)");
    word = word.substr(0, word.find('='));
    return mistake(prefix, (word.starts_with("-") ? "unknown option " : "unexpected argument ") + word +
                               did_you_mean(word, option_names(command)) + " (see " + prefix + " --help)");
  }
  if (chosen.empty() && extra.empty()) {
    std::string names;
    for (const std::string& name : command_names(app)) names += (names.empty() ? "" : ", ") + name;
    return mistake(prefix, "expected a command: " + names + " (see tandem --help)");
  }
  if (const std::string text = count_error(command); !text.empty()) return mistake(prefix, text);
  std::string text = error.what();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return mistake(prefix, text);
}

// Adds an option that takes a number in a range; `target` is a number or an optional number.
template <class T, class Target>
CLI::Option* add_number(CLI::App* c, const std::string& name, Target& target, const Range<T>& range,
                        const std::string& what) {
  return c
      ->add_option_function<std::string>(
          name, [name, &target, range](const std::string& text) { target = parse_number(name, text, range); }, what)
      ->type_name("NUMBER");
}

// The same, with the default shown in the help.
template <class T>
CLI::Option* add_known(CLI::App* c, const std::string& name, T& target, const Range<T>& range,
                       const std::string& what) {
  return add_number(c, name, target, range, what)->default_str(concat(target));
}

// "resnet18, resnet34, …"
std::string published_names() {
  std::string names;
  for (const models::PublishedModel& model : models::published_models())
    names += (names.empty() ? "" : ", ") + std::string(model.name);
  return names;
}

constexpr Range<int64_t> kBatchSizes{1, 1'000'000'000};
constexpr Range<int> kThreads{0, 4096};

// Options that determine how a model is trained.
void add_recipe(CLI::App* c, RecipeOptions& r) {
  c->add_option("--recipe", r.name,
                "source: plain SGD as published; best: AdamW with a cosine schedule; images: SGD with "
                "momentum, a cosine schedule "
                "and augmentation, the default of published models; text: AdamW with a warm-up and a cosine "
                "schedule, the default of texts. The options below override parts of it")
      ->default_str("source, of published models images, of texts text");
  add_number(c, "--batch-size", r.batch_size, kBatchSizes,
             "images, or examples of a text, per batch; source: 256, best: 64, images: 128, text: 32, or 8 with "
             "--weights");
  add_number(c, "--lr", r.lr, Range<double>{0, 1e6, true},
             "learning rate for the mean loss; source: 0.2, best: 0.003, images: 0.1, or 0.01 with --weights; text: "
             "0.001, or 0.00005 with --weights");
  c->add_option("--optimizer", r.optimizer, "sgd or adamw");
  add_number(c, "--momentum", r.momentum, Range<double>{0, 1}, "momentum of sgd, below 1; images: 0.9");
  add_number(c, "--weight-decay", r.weight_decay, Range<double>{0, 1e6},
             "weight decay; source: 0, best: 0.05, images: 0.0005, text: 0.1");
  c->add_option("--decay", r.decay, "what decays: all parameters, or matrices, those with at least two dimensions");
  add_number(c, "--label-smoothing", r.label_smoothing, Range<double>{0, 1},
             "label smoothing of the training loss, below 1; source: 0, best: 0.05");
  add_number(c, "--warmup", r.warmup, Range<double>{0, 1},
             "share of all steps in which the learning rate rises to --lr, below 1; text: 0.05");
  c->add_option("--schedule", r.schedule, "constant, or cosine: from --lr to 0 over all steps");
  c->add_option("--init", r.init,
                "normal: weights with standard deviation 0.01; default: the layers' default initialisation");
  c->add_option("--augment", r.augment,
                "none; flip: mirror half of the training images; crop: also shift them by up to an eighth of their "
                "size; resized-crop: cut out rectangles of any size, the default of the recipe images for image files; "
                "randaugment: also two random changes of shape and colour");
  add_number(c, "--accumulate", r.accumulate, Range<int64_t>{1, kMaxAccumulated},
             "batches whose gradients are added before each step, as if --batch-size were as many times as "
             "large; default: 1");
  add_number(c, "--clip", r.clip, Range<double>{0, 1e9},
             "scale the gradients down to this norm, taken of all of them together, if it is larger; 0: "
             "never; text: 1");
  add_number(c, "--ema", r.ema, Range<double>{0, 1},
             "below 1: also keep a moving average of parameters and running statistics with this decay per "
             "step, such as 0.999; it is evaluated, and saved as the run's model");
  c->add_option("--precision", r.precision,
                "fp32; bf16: products, convolutions and attention compute in bfloat16, everything else and all "
                "parameters stay float32; fp16: the same in float16, with a scaled loss. eval and predict "
                "compute in it, too; default: fp32");
  c->add_option("--freeze", r.freeze,
                "parameters that do not train: names of parameters or layers, separated by commas, with * for "
                "any text; or all-but-head: all but the last layer. A frozen batch normalisation also uses and "
                "keeps its running statistics")
      ->type_name("PATTERN");
}

// Options of models of texts.
void add_text(CLI::App* c, TextOptions& t) {
  c->add_option("--tokenizer", t.tokenizer,
                "for texts: char, one token per character; or a folder with vocab.json and merges.txt. Default: that "
                "beside the --weights, or char");
  const std::string sizes = "; not with --weights, which have their own";
  add_number(c, "--layers", t.layers, Range<int64_t>{1, 1024}, "for texts: blocks; gpt2: 4" + sizes);
  add_number(c, "--heads", t.heads, Range<int64_t>{1, 1 << 16}, "for texts: attention heads; gpt2: 4");
  add_number(c, "--width", t.width, Range<int64_t>{1, 1 << 16}, "for texts: numbers per token; gpt2: 128" + sizes);
  add_number(c, "--context", t.context, Range<int64_t>{1, 1 << 20},
             "for texts: tokens of an example, and the most that the model looks back; default: 128, or 1024 for "
             "gpt2-small to gpt2-xl without --weights");
  add_number(c, "--steps", t.steps, Range<int64_t>{1, 1'000'000'000},
             "for texts: batches of an epoch, at most; default: 100, fewer if the text is shorter");
  add_number(c, "--dropout", t.dropout, Range<double>{0, 1}, "for texts, below 1; gpt2: 0, else 0.1");
  add_number(c, "--validation", t.validation, Range<double>{0, 0.9, true},
             "share of a text, at its end, that is only evaluated; default: 0.1, and at most 131,072 tokens");
}

constexpr const char* kTrainable =
    "model to train: lenet, mlp, linear, or a published model for images such as resnet18 (tandem summary "
    "--help lists them)";
constexpr const char* kData =
    "fashion-mnist, mnist, cifar10, cifar100, a folder with the files of one, or a folder with the "
    "subfolders train and test, "
    "which have a folder of images for each class";

void add_key(CLI::App* c, std::string& key) {
  c->add_option("--key", key, "the state dict in a .pt file with more, such as state_dict or model.ema");
}

void add_train(CLI::App& app, TrainOptions& o) {
  CLI::App* c = app.add_subcommand("train",
                                   "train a model; writes config.json, metrics.jsonl, curve.svg, "
                                   "checkpoint.safetensors and model.safetensors to the run's folder");
  c->add_option("--model", o.model,
                std::string(kTrainable) + "; or for a text gpt2, gpt2-small, gpt2-medium, gpt2-large, gpt2-xl")
      ->capture_default_str();
  c->add_option("--data", o.data, std::string(kData) + "; or for gpt2 a file of text in UTF-8")->capture_default_str();
  add_known(c, "--image-size", o.image_size, {1, 1024},
            "pixels of a side to which image files are resized and cropped");
  c->add_flag("--skip-broken", o.skip_broken, "leave out image files that cannot be read, and list them");
  c->add_option("--weights", o.weights,
                "start from this file (.safetensors, .pt); the last layer is new if it has another number of "
                "classes. For "
                "gpt2 also a folder, or a run");
  add_key(c, o.key);
  c->add_option("--devices", o.devices,
                "cpu:0, cuda:0, …; several, such as cpu:0,cpu:1, share each batch; default: the best available")
      ->delimiter(',');
  c->add_option("--root", o.root, "device that keeps the parameters if there are several; default: the first");
  add_known(c, "--shards", o.shards, {0, kMaxShards},
            "pieces of each batch; results are then bitwise identical on any number of devices; 0: one piece "
            "per device");
  add_known(c, "--epochs", o.epochs, {1, kMaxEpochs},
            "passes over the training images (gpt2: 5 times --steps batches); --resume can raise it, unless the "
            "schedule is cosine");
  add_text(c, o.text);
  add_recipe(c, o.recipe);
  add_number(c, "--patience", o.recipe.patience, Range<int64_t>{1, kMaxEpochs},
             "stop when this many epochs have not improved the test accuracy, or a text's validation loss");
  c->add_option("--keep", o.recipe.keep,
                "last: the run's model is that of the last epoch; best: of the epoch with the highest test "
                "accuracy, or a text's lowest validation loss; all: of the last one, and that of every epoch "
                "is kept in epochs/. Default: last");
  add_known(c, "--seed", o.seed, {0, UINT64_MAX},
            "random seed of parameters and batch order; the same seed produces bitwise identical results");
  add_known(c, "--threads", o.threads, kThreads,
            "CPU threads, of all --processes together; 0: all cores. Results do not depend on it");
  add_known(c, "--workers", o.workers, {0, 256},
            "threads that load batches ahead, in each process; results do not depend on it");
  add_known(c, "--save-every", o.save_every, {0, 1e9, true}, "seconds between checkpoints within an epoch");
  add_number(c, "--processes", o.processes, Range<int>{1, 4096},
             "processes that train together, each with a share of the threads and its own --devices; "
             "--shards is then 8 "
             "unless given, so results are bitwise identical for any number. Also below mpirun, srun and "
             "tandem launch, "
             "without this option");
  c->add_option("--out", o.out, "folder of the run; default: runs/MODEL-DATA-N");
  c->add_option_function<std::string>(
       "--tensorboard", [&o](const std::string& folder) { o.tensorboard = folder; },
       "also write event files for TensorBoard: losses, accuracies, learning rate and speed, images of the "
       "first batch, "
       "histograms of parameters and gradients; to this folder, or to that of the run")
      ->expected(0, 1)
      ->type_name("[DIR]");
  c->add_option("--resume", o.resume, "continue the run in this folder, as if it had never stopped");
  c->callback([c, &o] {
    for (const CLI::Option* option : c->get_options())
      if (option->count() > 0) o.given.push_back(option->get_lnames().front());
  });
}

void add_compare(CLI::App& app, CompareOptions& o) {
  CLI::App* c = app.add_subcommand("compare",
                                   "train on several lists of devices alternately; report the speed of each "
                                   "and what limits it; writes compare.json and compare.svg");
  c->add_option("--devices", o.devices, "a list of devices, such as cpu:0,cpu:1; with --processes, at least two in all")
      ->allow_extra_args(false)
      ->type_name("LIST");
  c->add_option_function<std::vector<std::string>>(
       "--processes",
       [&o](const std::vector<std::string>& counts) {
         o.processes.clear();
         for (const std::string& count : counts)
           o.processes.push_back(parse_number("--processes", count, Range<int>{1, 4096}));
       },
       "a number of processes, each on one device; may be given several times. --shards is then 8 unless "
       "given")
      ->allow_extra_args(false)
      ->type_name("NUMBER");
  c->add_option("--scaling", o.scaling,
                "strong: the same batch on every list; weak: the same batch per device; or both")
      ->capture_default_str();
  c->add_option("--model", o.model, kTrainable)->capture_default_str();
  c->add_option("--data", o.data, kData)->capture_default_str();
  add_known(c, "--epochs", o.epochs, {1, kMaxEpochs}, "epochs per list");
  add_known(c, "--images", o.images, {0, 1'000'000'000}, "training images to use; 0: all");
  add_recipe(c, o.recipe);
  add_known(c, "--shards", o.shards, {0, kMaxShards}, "pieces of each batch; 0: one piece per device");
  add_known(c, "--seed", o.seed, {0, UINT64_MAX}, "random seed of parameters and batch order");
  add_known(c, "--threads", o.threads, kThreads,
            "threads per CPU device, in every run; 0: the cores divided by the largest number of CPU devices in a "
            "list");
  add_known(c, "--workers", o.workers, {0, 256}, "threads that load batches ahead");
  c->add_option("--out", o.out, "folder for the results; default: runs/compare-N");
}

void add_report(CLI::App& app, ReportOptions& o) {
  CLI::App* c = app.add_subcommand("report",
                                   "write a page about runs: curves over each other, differences of configuration, "
                                   "confusion matrix, worst "
                                   "mistakes, and the profile if a run's folder has one (profile.json or trace.json)");
  c->add_option("RUN", o.folders, "folders of the runs")->required()->type_name("");
  c->add_option("--out", o.out, "HTML file to write; default: report.html in the folder of the first run");
  c->add_option("--data", o.data, "data set for the predictions instead of the runs'");
  c->add_option("--device", o.device, "device to use; default: the best available");
  add_known(c, "--threads", o.threads, kThreads, "CPU threads; 0: all cores");
}

void add_generate(CLI::App& app, GenerateOptions& o) {
  CLI::App* c = app.add_subcommand("generate", "continue a text, or a list of tokens, with a language model");
  c->add_option("MODEL", o.weights,
                "folder of a run of gpt2, file of weights, or a folder with model.safetensors, an index, or "
                "pytorch_model.bin")
      ->required();
  add_key(c, o.key);
  c->add_option("--model", o.model, "kind of model: gpt2, in any size")->capture_default_str();
  c->add_option("--prompt", o.prompt, "text to continue");
  c->add_option_function<std::vector<std::string>>(
       "--prompt-ids",
       [&o](const std::vector<std::string>& ids) {
         o.prompt_ids.clear();
         for (const std::string& id : ids)
           o.prompt_ids.push_back(parse_number("--prompt-ids", id, Range<int64_t>{0, INT32_MAX}));
       },
       "numbers of the tokens to continue, instead of --prompt; the output is numbers, too, unless there is "
       "a tokenizer")
      ->delimiter(',')
      ->type_name("ID,…");
  add_known(c, "--tokens", o.tokens, {1, 1 << 20}, "tokens to generate, at most");
  add_known(c, "--temperature", o.temperature, {0, 1e6},
            "below 1: more probable tokens than the model says; 0: always the most probable one");
  add_known(c, "--top-k", o.top_k, {0, 1 << 30}, "draw from this many most probable tokens; 0: from all");
  add_known(c, "--top-p", o.top_p, {0, 1, true}, "draw from the fewest tokens that have this probability together");
  add_known(c, "--seed", o.seed, {0, UINT64_MAX}, "random seed; the same seed generates the same tokens");
  add_number<int64_t>(c, "--heads", o.heads, {1, 1 << 20},
                      "attention heads; default: n_head of a config.json beside the weights, else the width / 64");
  c->add_option("--device", o.device, "device to use; default: the best available");
  add_known(c, "--threads", o.threads, kThreads, "CPU threads; 0: all cores");
}

void add_launch(CLI::App& app, LaunchOptions& o) {
  CLI::App* c = app.add_subcommand("launch",
                                   "start a program as several processes (ranks) that compute together; when one "
                                   "fails, end all of them and say which one it was");
  c->add_option("PROGRAM", o.command, "program to start; what follows it is passed on")->type_name("");
  c->add_option("-n,--nproc-per-node", o.ranks,
                "ranks on this node: a number; cpu: one per usable core; gpu: one per CUDA device; auto: gpu if there "
                "are any, else cpu")
      ->capture_default_str()
      ->type_name("RANKS");
  add_known(c, "--nnodes", o.nodes, {1, 4096}, "nodes; tandem launch is started on each, with the same -n");
  add_number(c, "--node-rank", o.node_rank, Range<int>{0, 4095}, "number of this node, from 0; default: SLURM_NODEID");
  c->add_option("--rdzv,--rdzv-endpoint", o.rdzv,
                "where node 0 serves the store: one of its addresses, and a port; default on a single node: "
                "127.0.0.1 and a free port")
      ->type_name("HOST:PORT");
  add_known(c, "--max-restarts", o.max_restarts, {0, 1'000'000},
            "times to start all ranks again after a failure; they continue from their own checkpoints");
  add_known(c, "--grace", o.grace, {0, 1e6}, "seconds between asking ranks to end (SIGTERM) and killing them");
  c->add_option("--log-dir", o.log_dir, "also write each rank's output to DIR/rank_N.out and DIR/rank_N.err")
      ->type_name("DIR");
  c->add_flag_callback(
      "--no-prefix", [&o] { o.prefix = false; }, "do not print [RANK] before each line");
  c->footer(
      "The ranks find their place in RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and "
      "MASTER_PORT.\n"
      "Several nodes need the same secret TANDEM_JOB_KEY in the environment of each tandem launch.");
}

void add_file_commands(CLI::App& app, InspectOptions& inspect, ConvertOptions& convert) {
  CLI::App* c = app.add_subcommand("inspect", "list what is in a .safetensors or .pt file");
  c->add_option("FILE", inspect.file,
                "file of weights, a whole checkpoint of PyTorch, or the index or the folder of a sharded one")
      ->required();
  c = app.add_subcommand("convert", "convert a state dict between .safetensors and .pt");
  c->add_option("IN", convert.from, "file of either kind, or the index or the folder of a sharded checkpoint")
      ->required();
  c->add_option("OUT", convert.to, "file to write; its ending decides: .safetensors, .pt, .pth or .bin")->required();
  add_key(c, convert.key);
  c->add_option("--prefix", convert.prefix, "remove this from the names that start with it, such as module.");
  c->add_option("--shard-size", convert.shard_bytes,
                "split a .safetensors file into files of at most this size, such as 500MB or 5GiB, and an index")
      ->transform(CLI::AsSizeValue(true))  // MB are 10^6 bytes, MiB 2^20
      ->check(CLI::PositiveNumber);
}

// The number of words up to PROGRAM, which is the first word that is neither an option of `launch` nor the
// value of one. CLI11 would take the program's options for its own.
int words_before_program(int argc, char** argv, const CLI::App& launch) {
  if (argc < 2 || argv[1] != launch.get_name()) return argc;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--" || word.size() < 2 || word[0] != '-') return i;
    const bool is_long = word[1] == '-';
    const std::size_t equals = is_long ? word.find('=') : std::string::npos;
    const CLI::Option* option = launch.get_option_no_throw(is_long ? word.substr(0, equals) : word.substr(0, 2));
    const bool value_follows = is_long ? equals == std::string::npos : word.size() == 2;
    if (option != nullptr && value_follows && option->get_items_expected_min() > 0) ++i;
  }
  return argc;
}

int run(int argc, char** argv) {
  CLI::App app("Tandem: train and use small networks", "tandem");
  app.set_version_flag("--version", "tandem " TANDEM_VERSION);
  app.require_subcommand(1);
  TrainOptions train;
  add_train(app, train);
  CompareOptions compare;
  add_compare(app, compare);
  EvalOptions eval;
  CLI::App* c = app.add_subcommand("eval",
                                   "print the loss and accuracy of a trained run on its test images, or the loss and "
                                   "perplexity on the end of its text");
  c->add_option("DIR", eval.folder, "folder of the run")->required();
  c->add_option("--data", eval.data, "data set, or text, to use instead of the run's");
  c->add_option("--device", eval.device, "device to use; default: the best available");
  add_number(c, "--batch-size", eval.batch_size, kBatchSizes,
             "images per step; default: 1000 of up to 32 x 32 pixels, fewer of larger ones");
  add_known(c, "--threads", eval.threads, kThreads, "CPU threads; 0: all cores");
  c->add_flag("--json", eval.json, "print one line of JSON");
  ReportOptions report;
  add_report(app, report);
  PredictOptions predict;
  c = app.add_subcommand("predict", "classify images with a trained run, or with a published model and its weights");
  c->add_option("RUN IMAGE", predict.words,
                "folder of the run (not with --model), and PNG and JPEG files or folders of them")
      ->required()
      ->type_name("");
  c->add_option("--model", predict.model, "published model, such as resnet50");
  c->add_option("--weights", predict.weights, "file with its weights (.safetensors, .pt)");
  add_key(c, predict.key);
  c->add_option("--classes", predict.classes, "file with the names of the classes, one per line");
  c->add_option("--device,--devices", predict.device, "device to use; default: the best available");
  c->add_flag("--json", predict.json, "print JSON");
  add_known(c, "--top", predict.top, {1, 1 << 20}, "classes shown per image");
  c->add_flag("--invert", predict.invert, "invert dark-on-light images; the data sets are light on dark");
  SummaryOptions summary;
  c = app.add_subcommand("summary", "print a model's layers with output shape, parameters, bytes and operations");
  c->add_option("DIR", summary.folder, "folder of a run, instead of --model");
  c->add_option("--model", summary.model, "lenet, mlp, linear or a published model: " + published_names())
      ->capture_default_str();
  c->add_option_function<std::vector<std::string>>(
       "--input",
       [&summary](const std::vector<std::string>& sizes) {
         summary.input.clear();
         for (const std::string& size : sizes)
           summary.input.push_back(parse_number("--input", size, Range<int64_t>{1, 65536}));
       },
       "channels,height,width of an image, or the number of tokens; default: 1,28,28 or that of the "
       "published model")
      ->delimiter(',')
      ->expected(1, 3)
      ->type_name("C,H,W");
  add_number<int64_t>(c, "--classes", summary.classes, {1, 1 << 20},
                      "number of classes; default: 10 or that of the published model");
  add_known(c, "--batch-size", summary.batch_size, kBatchSizes, "images per step");
  c->add_option("--weights", summary.weights,
                "load this file of weights, index or folder, and report what does not fit the model");
  add_key(c, summary.key);
  GenerateOptions generate;
  add_generate(app, generate);
  InspectOptions inspect;
  ConvertOptions convert;
  add_file_commands(app, inspect, convert);
  CLI::App* devices = app.add_subcommand("devices", "list the available devices and their hardware");
  LaunchOptions launch;
  add_launch(app, launch);
  const int own_words = words_before_program(argc, argv, *app.get_subcommand("launch"));

  try {
    app.parse(own_words, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return parse_error(app, error, argc > 1 ? argv[1] : nullptr);
  }
  train.words.assign(argv + std::min(1, argc), argv + argc);
  compare.words = train.words;
  if (app.got_subcommand("train")) return train_command(train);
  if (app.got_subcommand("compare")) return compare_command(compare);
  if (app.got_subcommand("eval")) return eval_command(eval);
  if (app.got_subcommand("report")) return report_command(report);
  if (app.got_subcommand("predict")) return predict_command(predict);
  if (app.got_subcommand("summary")) return summary_command(summary);
  if (app.got_subcommand("generate")) return generate_command(generate);
  if (app.got_subcommand("inspect")) return inspect_command(inspect);
  if (app.got_subcommand("convert")) return convert_command(convert);
  if (app.got_subcommand("launch")) {
    const int first = own_words + (own_words < argc && std::string(argv[own_words]) == "--" ? 1 : 0);
    launch.command.assign(argv + std::min(first, argc), argv + argc);
    return launch_command(launch);
  }
  (void)devices;
  return devices_command();
}

}  // namespace
}  // namespace tandem::cli

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is a failed write
  try {
    const int code = tandem::cli::run(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    tandem::cli::print_error("tandem", "cannot write to standard output");
    return code != 0 ? code : 1;
  } catch (const tandem::cli::UsageError& error) {
    tandem::cli::print_error("tandem", error.what());
    return 2;
  } catch (const tandem::cli::ReportedElsewhere& error) {
    return error.code;
  } catch (const std::bad_alloc&) {  // of what is no tensor
    const std::string_view command = argc > 1 ? argv[1] : "";
    const bool trains = command == "train" || command == "compare";
    tandem::cli::print_error("tandem",
                             trains ? "out of memory; try a smaller batch, or fewer workers" : "out of memory");
    return 1;
  } catch (const std::exception& error) {
    tandem::cli::print_error("tandem", error.what());
    return 1;
  }
}
