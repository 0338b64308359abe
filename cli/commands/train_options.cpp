// The options of tandem train, in the groups of its help.
#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/options.h"

namespace tandem::cli {
namespace {

void add_text_model(CLI::App* c, TextOptions& t) {
  add_text(c, "--tokenizer", t.tokenizer, "char|DIR",
           "char, one token per character; or a folder with vocab.json and merges.txt. Default: that beside the "
           "--weights, or char");
  const std::string sizes = "; not with --weights, which have their own";
  add_number(c, "--layers", t.layers, Range<int64_t>{1, 1024}, "blocks; gpt2: 4" + sizes);
  add_number(c, "--heads", t.heads, Range<int64_t>{1, 1 << 16}, "attention heads; gpt2: 4");
  add_number(c, "--width", t.width, Range<int64_t>{1, 1 << 16}, "numbers per token; gpt2: 128" + sizes);
  add_number(c, "--context", t.context, Range<int64_t>{1, 1 << 20},
             "tokens of an example, and the most that the model looks back; default: 128, or 1024 for gpt2-small to "
             "gpt2-xl without --weights");
  add_number(c, "--steps", t.steps, Range<int64_t>{1, 1'000'000'000},
             "batches of an epoch, at most; default: 100, fewer if the text is shorter");
  add_number(c, "--dropout", t.dropout, Range<double>{0, 1}, "below 1; gpt2: 0, else 0.1");
}

void add_model_and_data(CLI::App* c, TrainOptions& o) {
  begin_group(c, "Model and data");
  add_known_text(c, "--model", o.model, kModelType,
                 std::string(kTrainable) + "; or for a text gpt2, gpt2-small, gpt2-medium, gpt2-large, gpt2-xl");
  add_known_text(c, "--data", o.data, kDataType, std::string(kData) + "; or for gpt2 a file of text in UTF-8");
  add_text(c, "--weights", o.weights, kFileType,
           "start from this file (.safetensors, .pt); the last layer is new if it has another number of classes. For "
           "gpt2 also a folder, or a run");
  add_key(c, o.key);
  add_number(c, "--validation", o.validation, Range<double>{0, kMaxValidation},
             "share of the training images, the same of each class, that is only evaluated, and by which --keep best "
             "and --patience compare epochs; 0: by the test images. Default: with these options 0.1, or the part val "
             "of a folder with train, val and test; else 0. Of a text: its end, 0.1 and at most 131,072 tokens");
}

void add_optimisation(CLI::App* c, TrainOptions& o) {
  begin_group(c, "Optimisation");
  add_known(c, "--epochs", o.epochs, {1, kMaxEpochs},
            "passes over the training images (gpt2: 5 times --steps batches); --resume can raise it, unless the "
            "schedule is cosine");
  add_recipe(c, o.recipe, "best; of published models and ONNX files images, of texts text");
  add_number(c, "--patience", o.recipe.patience, Range<int64_t>{1, kMaxEpochs},
             "stop when this many epochs have not improved the validation accuracy, or a text's validation loss");
  add_known(c, "--seed", o.seed, {0, UINT64_MAX},
            "random seed of parameters and batch order; the same seed produces bitwise identical results");
}

void add_images(CLI::App* c, TrainOptions& o) {
  begin_group(c, "Images");
  add_number(c, "--image-size", o.image_size, Range<int64_t>{1, 1024},
             "pixels of a side to which image files are resized and cropped; default: 32 for lenet, mlp and linear, "
             "224 for published models, or what an ONNX file says");
  c->add_flag("--skip-broken", o.skip_broken, "leave out image files that cannot be read, and list them");
  add_augment(c, o.recipe);
}

void add_devices_and_processes(CLI::App* c, TrainOptions& o) {
  begin_group(c, "Devices");
  add_text(c, "--devices", o.devices, kDeviceType,
           "cpu:0, cuda:0, …; several, such as cpu:0,cpu:1, share each batch; default: the best available")
      ->delimiter(',');
  add_text(c, "--root", o.root, kDeviceType,
           "device that keeps the parameters if there are several; default: the first");
  add_reproducible(c, o);
  add_known(
      c, "--shards", o.shards, {0, kMaxShards},
      "pieces of each batch; results are then bitwise identical on any number of devices; 0: one piece per device");
  c->add_flag("--fully-sharded", o.fully_sharded,
              "each of the --processes keeps only its slice of parameters, gradients and optimizer state, and gathers "
              "the model block by block: for models that are too large for one");
  add_number(c, "--processes", o.processes, Range<int>{1, 4096},
             "processes that train together, each with a share of the threads and its own --devices; --shards is then "
             "8 unless given, so results are bitwise identical for any number. Also below mpirun, srun and tandem "
             "launch, without this option");
  add_known(c, "--threads", o.threads, kThreads,
            "CPU threads, of all --processes together; 0: all cores. Results do not depend on it");
  add_known(c, "--workers", o.workers, {0, 256},
            "threads that load batches ahead, in each process; results do not depend on it");
}

void add_output(CLI::App* c, TrainOptions& o) {
  begin_group(c, "Output");
  add_text(c, "--out", o.out, kFolderType, "folder of the run; default: runs/MODEL-DATA-N");
  add_text(c, "--resume", o.resume, kFolderType, "continue the run in this folder, as if it had never stopped");
  add_choice(c, "keep", o.recipe.keep,
             "last: the run's model is that of the last epoch; best: of the epoch with the highest validation "
             "accuracy, or a text's lowest validation loss; all: of the last one, and that of every epoch is kept in "
             "epochs/, with a checkpoint, from which verify can start. Default: last");
  add_known(c, "--save-every", o.save_every, {0, 1e9, true}, "seconds between checkpoints within an epoch");
  c->add_flag("--keep-going", o.keep_going,
              "train on when the loss or a weight is not finite; otherwise the run ends, with the checkpoint before");
  add_number<int64_t>(c, "--hash-steps", o.hash_steps, {1, 1'000'000'000},
                      "also record the hash of the run's state after every so many steps of an epoch, so that verify "
                      "can say where runs part; default: only after epochs");
  c->add_option_function<std::string>(
       "--tensorboard", [&o](const std::string& folder) { o.tensorboard = folder; },
       "also write event files for TensorBoard: losses, accuracies, learning rate and speed, images of the first "
       "batch, histograms of parameters and gradients; to this folder, or to that of the run")
      ->expected(0, 1)
      ->type_name("[DIR]");
  c->add_flag("--verbose", o.verbose,
              "also say how many kernels of a step on a GPU were fused into how many, and the bytes that they move");
}

}  // namespace

void add_train_options(CLI::App* c, TrainOptions& o) {
  add_model_and_data(c, o);
  add_optimisation(c, o);
  add_images(c, o);
  begin_group(c, "Text");
  add_text_model(c, o.text);
  add_devices_and_processes(c, o);
  add_output(c, o);
}

}  // namespace tandem::cli
