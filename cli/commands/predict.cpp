// tandem predict: classifies images, with a trained run or with a published model and its weights.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tandem/autograd/ops.h"
#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/data/image.h"
#include "tandem/cli/data/image_set.h"
#include "tandem/cli/device_list.h"
#include "tandem/cli/draw/plot.h"
#include "tandem/cli/json.h"
#include "tandem/cli/message.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/cli/train/evaluate.h"
#include "tandem/cli/train/model_guess.h"
#include "tandem/cli/train/run_model.h"
#include "tandem/cli/train/weight_files.h"
#include "tandem/datasets/vision/image_file.h"
#include "tandem/nn/files/prefix.h"
#include "tandem/nn/init.h"

namespace tandem::cli {
namespace {

struct PredictOptions {
  std::vector<std::string> words;  ///< the folder of a run unless there is a model, and image files and folders of them
  std::string model, weights;      ///< a published model, and a file with its weights
  std::string key{};               ///< of the state dict in a .pt file with more
  std::string classes;             ///< a file with their names
  std::string device;
  int top = 3;
  bool invert = false;  ///< for dark-on-light images; the data sets are light on dark
  bool json = false;
};

namespace fs = std::filesystem;

struct Predictor {
  nn::Sequential model = nullptr;  // from values of 0 to 1
  std::vector<int64_t> input;      // channels, height, width
  int64_t shorter_side;            // to which colour images are resized before they are cropped
  int64_t class_count;
  std::vector<std::string> classes;
  Recipe recipe{};  // of a run: its precision

  std::string class_name(int64_t number) const {
    const auto i = static_cast<std::size_t>(number);
    return i < classes.size() ? printable(classes[i]) : concat("class ", number);
  }
};

Predictor of_run(const std::string& folder, Device device) {
  Checkpoint checkpoint = run_of(folder);
  require(!checkpoint.config.text, folder, ": the run of a text; continue one with ", called_as(), " generate ",
          quoted_for_shell(folder), " --prompt TEXT");
  const RunConfig& c = checkpoint.config;
  return {
      model_of_run(checkpoint, device), c.input, std::max(c.input[1], c.input[2]), c.class_count, c.classes, c.recipe};
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  require(!lines.empty(), "--classes ", path, ": cannot be read, or is empty");
  return lines;
}

void check_classes(const PredictOptions& o, const Predictor& p) {
  require(p.classes.empty() || static_cast<int64_t>(p.classes.size()) == p.class_count, "--classes ", o.classes,
          ": has ", p.classes.size(), " lines, the model has ", p.class_count, " classes");
}

// As torchvision prepares images for these weights: shorter side 256, then the middle 224 x 224.
Predictor of_weights(const PredictOptions& o, Device device) {
  require(is_published(o.model), "--model ", o.model,
          ": neither a published model for images nor an ONNX file; to use a run, name its folder");
  require(!o.weights.empty(), "--model needs --weights: a file with the model's weights");
  Predictor out{.input = {3, 224, 224}, .shorter_side = 256, .class_count = 1000, .classes = {}};
  if (!o.classes.empty()) out.classes = lines_of(o.classes);
  try {
    const auto weights = serialize::unwrapped(read_state(o.weights, o.key));
    const nn::init::SkipGuard no_values;
    const auto make = [&] { return make_model(o.model, {3, 224, 224, out.class_count}); };
    out.model = make();
    const auto own = exported(o.model, out.model);
    const Tensor* scores = own.size() == 0 ? nullptr : weights.find(own.keys().back());  // the bias of the last layer
    if (scores != nullptr && scores->dim() == 1 && scores->numel() != out.class_count && scores->numel() <= 1 << 16) {
      out.class_count = scores->numel();
      out.model = make();
    }
    start_from(o.model, out.model, weights);
  } catch (const Error& error) {
    refuse("--weights ", o.weights, ": ", error.what(), looks_like(o.weights, o.key, o.model));
  }
  check_classes(o, out);
  out.model->to(device);
  out.model->eval();
  return out;
}

Predictor of_onnx(const PredictOptions& o, Device device) try {
  OnnxNetwork network = open_onnx_network(o.model);
  Predictor out{.model = network.model,
                .input = network.input,
                .shorter_side = network.shorter_side,
                .class_count = network.class_count,
                .classes = network.classes};
  if (!o.classes.empty()) out.classes = lines_of(o.classes);
  if (!o.weights.empty()) start_from(o.model, out.model, read_state(o.weights, o.key));
  check_classes(o, out);
  out.model->to(device);
  return out;
} catch (const Error& error) {
  throw UsageError(error.what());
}

// Folders are replaced by the images in them.
std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
      const std::string file = entry.path().string();
      if (vision::has_image_ending(file)) found.push_back(file);
    }
    require(!found.empty(), path, ": a folder without PNG and JPEG files");
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// uint8 [1, H, W] of the model's size, and what the terminal shows of it.
std::pair<Tensor, Image> gray_input(const Predictor& p, const std::string& path, bool invert) {
  Image image =
      resize(to_gray(read_image(path, invert ? 255 : 0)), static_cast<int>(p.input[2]), static_cast<int>(p.input[1]));
  if (invert)
    for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(255 - pixel);
  return {from_blob(image.pixels.data(), {1, image.height, image.width}, kByte).clone(), image};
}

// Whether the outermost pixels of a gray image are on average lighter than half of white. False of an empty image.
bool has_light_border(const Image& image) {
  int64_t sum = 0, count = 0;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      if (x > 0 && x < image.width - 1 && y > 0 && y < image.height - 1) continue;
      sum += image.pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
                          static_cast<std::size_t>(x)];
      ++count;
    }
  return 2 * sum > 255 * count;
}

void suggest_inverting(const std::vector<std::string>& light) {
  std::fflush(stdout);
  print_error("note", concat(light.size() == 1 ? light[0] : concat(light.size(), " images"),
                             ": the background is light; if the model has learned from light on dark, as in MNIST and "
                             "Fashion-MNIST, use --invert"));
}

int predict_command(PredictOptions o) {
  const Device device = use_device(o.device);
  std::vector<std::string> words = o.words;
  require(!o.model.empty() || words.size() >= 2, "expected the folder of a run, or --model, and then image files");
  if (o.model.empty() && is_onnx(words[0])) {  // in the place of a run
    o.model = words[0];
    words.erase(words.begin());
  }
  require(!o.model.empty() || (o.classes.empty() && o.weights.empty()), o.classes.empty() ? "--weights" : "--classes",
          ": not for a run, which has its own");
  require(o.key.empty() || !o.weights.empty(), "--key: names a state dict in the file of --weights");
  Predictor p = o.model.empty()    ? of_run(words[0], device)
                : is_onnx(o.model) ? of_onnx(o, device)
                                   : of_weights(o, device);
  choose_layout(*p.model, p.recipe, device);
  if (o.model.empty()) words.erase(words.begin());
  const std::vector<std::string> files = files_of(words);
  require(p.input[0] != 3 || !o.invert, "--invert: only for models of gray images");
  const Terminal terminal = detect_terminal();
  const InferenceMode guard;
  const auto mixed = in_precision(p.recipe, device);
  std::size_t failures = 0;
  std::vector<std::string> light;
  Json results = Json::array();
  for (const std::string& path : files) {
    try {
      Tensor pixels;
      Image shown;
      if (p.input[0] == 1)
        std::tie(pixels, shown) = gray_input(p, path, o.invert);
      else
        pixels = read_picture(path, p.shorter_side, p.input[1], p.input[2]);
      if (!o.invert && has_light_border(shown)) light.push_back(path);
      nn::Sequential model = p.model;
      const Tensor scores = model->forward(to_input(pixels.unsqueeze(p.input[0] == 1 ? 1 : 0)).to(device));
      const Tensor probability = softmax(scores, 1, kFloat).cpu().squeeze(0);
      const auto [top, which] = probability.topk(std::min<int64_t>(o.top, p.class_count));
      std::vector<std::pair<std::string, double>> rows;
      Json classes = Json::array();
      for (int64_t i = 0; i < top.numel(); ++i) {
        const auto number = which[i].item<int64_t>();
        rows.emplace_back(p.class_name(number), top[i].item<double>());
        classes.push_back({{"class", p.class_name(number)}, {"index", number}, {"probability", top[i].item<double>()}});
      }
      if (o.json)
        results.push_back({{"file", path}, {"classes", classes}});
      else
        std::printf("%s\n%s%s\n", printable(path).c_str(), shown.pixels.empty() ? "" : picture(shown, terminal).c_str(),
                    probability_bars(rows, terminal).c_str());
    } catch (const Error& error) {  // continue with the other images
      std::fflush(stdout);
      print_error("tandem", error.what());
      ++failures;
    }
  }
  if (o.json) std::printf("%s\n", json_text(results, 2).c_str());
  if (!light.empty()) suggest_inverting(light);
  return failures == 0 ? 0 : failures == files.size() ? 2 : 1;
}

}  // namespace

Command add_predict(CLI::App& app) {
  static PredictOptions o;
  CLI::App* c = app.add_subcommand(
      "predict", "classify images with a trained run, a published model and its weights, or an ONNX file");
  add_text(c, "RUN IMAGE", o.words, "",
           "folder of the run or an ONNX file (not with --model), and PNG and JPEG files or folders of them")
      ->required();
  add_text(c, "--model", o.model, kModelType, "published model, such as resnet50, or an ONNX file");
  add_text(c, "--weights", o.weights, kFileType, "file with its weights (.safetensors, .pt); an ONNX file has its own");
  add_key(c, o.key);
  add_text(c, "--classes", o.classes, kFileType, "file with the names of the classes, one per line");
  add_device(c, o.device);
  c->add_flag("--json", o.json, "print JSON");
  add_known(c, "--top", o.top, {1, 1 << 20}, "classes shown per image");
  c->add_flag("--invert", o.invert, "invert dark-on-light images; the data sets are light on dark");
  c->footer(
      "Examples:\n"
      "  tandem predict runs/first shoe.png\n"
      "  tandem predict --model resnet50 --weights resnet50.safetensors --classes imagenet.txt photos\n"
      "  tandem predict --model net.onnx photo.jpg");
  return [](const CommandLine&) { return predict_command(o); };
}

}  // namespace tandem::cli
