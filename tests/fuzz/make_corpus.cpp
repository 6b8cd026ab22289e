// SPDX-License-Identifier: Apache-2.0
// Writes valid files for the fuzz targets to start from: make_corpus FOLDER, a folder a target.
#include <sndfile.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "api/model/engine_cache_file.h"
#include "api/programs/kernel_cache.h"
#include "api/runs/checkpoint_files.h"
#include "fuzz/plan_graph.h"
#include "fuzz/small_run.h"
#include "fuzz/small_tokenizers.h"
#include "io/files.h"
#include "io/onnx/read.h"
#include "io/onnx/write.h"
#include "io/onnx_every_field.h"
#include "io/onnx_small_model.h"
#include "io/small_images.h"
#include "io/small_sounds.h"
#include "narrowgauge/npz.h"
#include "narrowgauge/safetensors.h"
#include "precision/colouring/policy.h"
#include "quantize/calibration.h"

namespace {

using namespace narrowgauge;
using testing_files::gzip;

class Corpus {
 public:
  explicit Corpus(std::string folder) : folder_(std::move(folder)) {}

  std::string path(const std::string& target) {
    const std::string folder = folder_ + '/' + target;
    std::filesystem::create_directories(folder);
    return concat(folder, "/valid", ++count_);
  }
  void add(const std::string& target, std::string_view content) {
    testing_files::write_file(path(target), std::string(content));
  }
  void add_all(const std::string& target, std::initializer_list<std::string_view> contents) {
    for (const std::string_view content : contents) add(target, content);
  }

 private:
  std::string folder_;
  int count_ = 0;
};

// The pieces that graphs are written in, each once.
constexpr std::string_view small_graph = R"(graph "small \"one\"" {
  ; a comment
  %x = ng.Input {type=f32[N,3]} : f32[N,3]
  %w = ng.State {type=f32[3]} : f32[3]
  %d = ng.State {type=f16[3]} : f16[3]
  %k = Constant {value=f32[2]{0.1,-3e+30}} : f32[2]
  %shape = Constant {value=i64[2]{-1,3}} : i64[2]
  %"a b" = Reshape(%x, %shape) : f32[N,3]
  %y = Add(%x, %w) @origin="first" @phase=update @storage=plain
  %y#2 = Add(%x, %w) : f32[N,3]
  %half = Cast(%y) {to=f16, saturate=1} : f16[N,3]
  %ceiling = Constant {value=f32[]{0.5}} : f32[]
  %clip = Clip(%x, _, %ceiling) : f32[N,3]
  %norm = LayerNormalization(%y, %w) {axis=-1, epsilon=1e-05} : f32[N,3]
  %pad = Transpose(%norm) {perm=[1,0]} @math=ieee
  state %w role=parameter initial=truncated_normal(0.5, 0.02) next=%w
  state %d role=derived initial=f16[3]{1,2,3} next=%d from=["w"] derivation=graph "cast" {
    %w = ng.Input {type=f32[3]} : f32[3]
    %c = Cast(%w) {to=f16} : f16[3]
    output "c" = %c
  }
  output "norm" = %norm
}
)";

void add_texts(Corpus& corpus) {
  corpus.add("graph_text", fuzz::plan_graph_text);
  corpus.add("graph_text", print(parse(small_graph, op_table())));
  corpus.add_all("dimension", {"f32[N,3,32,32]", "i64[]", "bf16[(N+2*P-K)/S+1,M*4]", "(N/2+1)/3",
                               "-N+M*M*7", "((N/M)*(A+B)/M)*(A+B)", "f4e2m1[9223372036854775807]"});
  const Graph graph = fuzz::plan_graph();
  corpus.add("plan", print(make_precision_plan(graph, {})));
  for (const DType narrow : {DType::f16, DType::bf16}) {
    PrecisionRequest options;
    options.narrow = narrow;
    options.overrides = {"relu=f32"};
    corpus.add("plan", print(make_precision_plan(graph, options)));
  }
  corpus.add("config",
             "model = \"lenet\"  # a\nlr = +1_0e-3\n[train]\nfreeze = [\n'a,b', # c\n]\n");
  corpus.add("plan", "# a list\nSum = deny\nconv1=f32\nhead/*=bf16  # why\n");
  corpus.add_all("command_line",
                 {"--model\nlenet\n--amp\nbf16\n--checkpoint-every\n5min\n--override\nconv1=f32",
                  "-m\nresnet20\n--lr=1e-3\n--loss-scale\n128\n--nesterov\n--image\n3x32x32",
                  "-mmlp\n--optimizer\nadamw\n--schedule\nstep\n--warmup\n20\n--threads\n2",
                  "--checkpoint-every\n20\n--units\na100,h100\n--compare\noff,f16\n3.14\n--\n-1"});
  corpus.add_all("printable",
                 {"plain\nlines\tof text", "\x1b[31mred\x7f", "\xc3\xa9\xe2\x80\xae",
                  "label    a word, another word, /a/path/that/is/long/enough/to/fold"});
  corpus.add_all("typed_words", {"[[0, 3.14], [1e-3, -2]]", "[1]", "f16:0x3c00", "bf16:0b1",
                                 "-1.5e-8", "inf", "64,64,1024", "conv1=f32", "head/*=deny", "0231",
                                 "0123|1:16", "sim:h100:f8e4m3", "sim:a100", "bf16x3",
                                 "flip(0.5, over=1), crop(4)", "resized_crop(least=0.2),mixup"});
}

Tensor counted(DType dtype, Dims dims) {
  Tensor result(dtype, std::move(dims));
  for (std::int64_t i = 0; i < result.size(); ++i) result.set(i, static_cast<double>(i % 2));
  return result;
}

void add_arrays(Corpus& corpus) {
  std::vector<NamedTensor> tensors;
  for (const DType dtype : {DType::f32, DType::f16, DType::i64, DType::boolean, DType::u8}) {
    const Tensor tensor = counted(dtype, {2, 3});
    tensors.push_back({concat("a/", dtype), tensor});
    write_npy(corpus.path("npy"), tensor);
  }
  corpus.add("npy", std::string("\x93NUMPY\1\0\x46\0", 10) +
                        "{'descr': '>f4', 'fortran_order': True, 'shape': (1, 2), }    "
                        "       \n" +
                        std::string(8, '\1'));
  corpus.add("npy", std::string("\x93NUMPY\1\0\x46\0", 10) +
                        "{'descr': '<V1', 'fortran_order': True, 'shape': (2, 3), }    "
                        "       \n" +
                        "\1\2\3\4\5\6");
  write_npz(corpus.path("npz"), tensors);
  write_npz(corpus.path("npz"), tensors, Compression::deflated);
  const Tensor rows = counted(DType::f32, {2, 3}), labels = counted(DType::i64, {2});
  write_npz(corpus.path("data"),
            std::vector<NamedTensor>{
                {"x_train", rows}, {"y_train", labels}, {"x_test", rows}, {"y_test", labels}});
  corpus.add_all("data", {"x,class\n1,0\n2,1\n3,0\n4,1\n5,0\n",
                          "\"a\",-1e3,1\r\n2,.5,0\r\n3,4,1\r\n5,6,0\r\n7,8,1\r\n9,1,0"});
  const std::string table =
      "age\tjob\tincome\n20\tcook\tlow\n\t\"a \"\"b\"\"\nc\"\thigh\n40\tNA\tlow\n6\tx\thigh\n";
  const std::string schema =
      R"({"classes":2,"columns":[{"has_missing":true,"mean":3.5,"name":"age"},)"
      R"({"name":"job","words":["cook","x"]}],"has_header":true,"kind":"names","label":"income",)"
      R"("label_place":2,"names":["high","low"],"places":[0,1]})";
  corpus.add_all("tables", {"\n" + table, schema + '\n' + table, "\n1,a,5\n2,b,6\n3,a,7.5\n4,b,8\n",
                            schema + "\njob,age\nx,5\n"});
  write_safetensors(corpus.path("safetensors"),
                    TensorFile{.tensors = tensors, .metadata = {{"format", "pt"}}});
  write_safetensors(corpus.path("safetensors"), TensorFile{});
  // What other programs' files begin with.
  corpus.add_all("safetensors", {"\x80\2} 1234", "PK\3\4 1234", "\x89HDF 123", "GGUF 123",
                                 "\x93NUMPY 1", "short"});
}

// Adds files of the network that the target loads them into.
void add_run(Corpus& corpus) {
  const testing_files::TemporaryFolder folder;
  write_checkpoint(folder / "checkpoint", fuzz::small_checkpoint());
  corpus.add("manifest", testing_files::read_file(folder / "checkpoint/manifest.json"));
  Model model = fuzz::small_model();
  const Trainer trainer = fuzz::small_trainer(model);
  const Checkpoint checkpoint = read_checkpoint(trainer.save(folder / "run"));
  write_safetensors(corpus.path("weights"), checkpoint.model);
  write_safetensors(corpus.path("weights"), checkpoint.state);
}

void add_pictures(Corpus& corpus) {
  for (const narrowgauge::testing_support::SmallImage& image :
       narrowgauge::testing_support::small_images)
    corpus.add("image", narrowgauge::testing_support::bytes_of(image.file));
  corpus.add_all("image", {"P1\n3 2 # a comment\n101\n0 1 0", "P2 3 1 1000 0 500 999", "P4 9 1 ab",
                           "P5 2 1 6\n\1\5", "P3 1 1 7 0 1 7", "P6 1 1 65535\nabcdef"});
}

// A sound as libsndfile writes it.
std::string encoded(const std::vector<float>& samples, int format) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder / "sound";
  SF_INFO info{.samplerate = 16000, .channels = 1, .format = format};
  SNDFILE* const file = sf_open(path.c_str(), SFM_WRITE, &info);
  if (!file) throw std::runtime_error(sf_strerror(nullptr));
  sf_write_float(file, samples.data(), std::ssize(samples));
  sf_close(file);
  return testing_files::read_file(path);
}

void add_sounds(Corpus& corpus) {
  const std::vector<float> samples = testing_files::tone(440, 0.05, 16000);
  corpus.add("image", testing_files::wav_of(samples, 16000));
  corpus.add("image", testing_files::wav_of(samples, 22050, 2));
  corpus.add("image", testing_files::float_wav_of(samples, 8000));
  for (const int format :
       {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_OGG | SF_FORMAT_VORBIS,
        SF_FORMAT_OGG | SF_FORMAT_OPUS, SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM,
        SF_FORMAT_WAV | SF_FORMAT_PCM_24, SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III})
    corpus.add("image", encoded(samples, format));
}

void add_images(Corpus& corpus) {
  const std::string images("\0\0\x08\3\0\0\0\3\0\0\0\1\0\0\0\2\1\2\3\4\5\6", 22);
  const std::string labels("\0\0\x08\1\0\0\0\3\0\1\2", 11);
  for (const std::string& content : {images, labels}) {
    corpus.add("idx", content);
    corpus.add("idx", gzip(content));
    corpus.add("idx", gzip(content.substr(0, 9)) + gzip(content.substr(9)));
  }
}

void add_tokenizers(Corpus& corpus) {
  const std::string saved(1, '\0'), lines(1, '\1'), numbers(1, '\2'), merges(1, '\3');
  const std::string text = "The cat's 3 caf\xc3\xa9s, [UNK] \xe4\xb8\xad.\n  aab abc";
  for (const auto& each :
       {make_tokenizer({.kind = "bytes"}, text), make_tokenizer({.kind = "character"}, text),
        make_tokenizer({.kind = "word"}, text), fuzz::wordpiece_of(fuzz::small_vocabulary, false)})
    corpus.add("tokenizer_files", saved + each->json());
  corpus.add("tokenizer_files", lines + std::string(fuzz::small_vocabulary));
  corpus.add("tokenizer_files", numbers + fuzz::byte_vocabulary());
  corpus.add("tokenizer_files", merges + std::string(fuzz::small_merges));
  corpus.add_all("tokens", {text, "a\tb\r\nc\xff\xc3(", "<|endoftext|>aaab we'll I've"});
}

constexpr std::string_view text_record = R"({"version": 1, "settings": {
  "model": "lstm", "data": "a.txt", "amp": "off", "overrides": [], "math": "f32",
  "epochs": 3, "batch": 16, "optimizer": "adamw", "learning_rate": 0.002, "beta1": 0.9,
  "beta2": 0.99, "epsilon": 1e-8, "weight_decay": 0.1, "clip": 1, "schedule": "cosine",
  "warmup": -1, "loss_scale": "", "seed": 1, "threads": 0, "deterministic": false},
 "text": {"tokens": "word", "most": 100, "least_count": 1, "vocabulary": "", "merges": "",
  "cased": false, "context": 16, "layers": 1, "width": 8, "heads": 0, "dropout": -1}}
)";

constexpr std::string_view run_record = R"({"version": 1, "settings": {
  "model": "lenet", "data": "glyphs", "amp": "f16", "overrides": ["Sum=deny"], "math": "f32",
  "epochs": 3, "batch": 128, "optimizer": "sgd", "learning_rate": 0.05, "momentum": 0.9,
  "nesterov": false, "weight_decay": 0, "clip": 0, "schedule": "cosine", "warmup": -1,
  "loss_scale": "65536", "seed": 1, "threads": 0, "deterministic": false},
 "images": {"classes": 10, "channels": 1, "height": 28, "width": 28, "padded_height": 32,
  "padded_width": 32, "mean": [0.5], "deviation": [0.25]}}
)";

// Shapes from Shape, a function, a branch, a loop and a sequence.
onnx::Model small_network() {
  using namespace narrowgauge::testing_support;
  onnx::Graph branch;
  branch.nodes = {onnx_node("Abs", {"h"}, {"out"})};
  branch.outputs = {onnx_value("out", "f32[N,2]")};
  onnx::Graph body;
  body.inputs = {onnx_value("i", "i64[]"), onnx_value("go", "bool[]"), onnx_value("a", "f32[N,2]")};
  body.nodes = {onnx_node("Identity", {"go"}, {"on"}), onnx_node("Add", {"a", "h"}, {"b"})};
  body.outputs = {onnx_value("on", "bool[]"), onnx_value("b", "f32[N,2]")};
  SmallModel model(12);
  model.input("x", "f32[N,2]").input("cond", "bool[]");
  model.initializer("w", floats({2, 2}, {1, 2, 3, 4})).initializer("m", integers({}, {3}));
  model.node("MatMul", {"x", "w"}, {"h"}).node("Shape", {"h"}, {"s"});
  model.node("If", {"cond"}, {"c"},
             {{"then_branch", onnx::Box<onnx::Graph>(branch)},
              {"else_branch", onnx::Box<onnx::Graph>(branch)}});
  model.node("Loop", {"m", "", "c"}, {"l"}, {{"body", onnx::Box<onnx::Graph>(body)}});
  model.node("SequenceConstruct", {"l", "h"}, {"q"}).node("SequenceAt", {"q", "m"}, {"e"});
  model.node("Reshape", {"l", "s"}, {"r"}).node("Softmax", {"r"}, {"y"});
  model.node("ReduceSum", {"y"}, {"t"}, {{"axes", Dims{1}}});
  return model.output("t").model;
}

void add_onnx(Corpus& corpus) {
  const std::string model = narrowgauge::testing_support::every_field();
  corpus.add("onnx_file", model);
  const auto bytes = SharedBytes::holding(model);
  for (const onnx::TensorData& tensor : onnx::read_model(bytes, "corpus").graph.initializers)
    corpus.add("onnx_file", onnx::serialized(tensor));
  corpus.add("onnx_import", onnx::serialized(small_network()));
}

void add_caches(Corpus& corpus) {
  const KernelRecords kernels{{"Conv f32 [1,2]", {"tiles", "2.1 us, others 3.4 us", true}}};
  corpus.add("kernel_cache", kernel_records_text(kernels, "fuzz"));
  for (const auto& [key, record] : kernels)
    corpus.add("kernel_cache", kernel_log_line("fuzz", key, record));
  const auto bytes = std::make_shared<std::array<std::byte, 70>>();
  const PackedBytes packed(bytes, bytes->data());
  write_engine_cache(corpus.path("engine_cache"), "fuzz",
                     {"engine", kernels, {{{"weight.packed.1", 7, 70}, packed}}});
}

void add_calibration(Corpus& corpus) {
  Calibration seen({"image", "relu"});
  const Tensor values(DType::f32, {2, 3, 4});
  seen.observe("image", values);
  seen.observe("relu", values);
  seen.count_samples(2);
  seen.set_network({true, {{"conv", 0.25}}});
  seen.save(corpus.path("calibration"));
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("make_corpus FOLDER\n", stderr);
    return 2;
  }
  Corpus corpus(words[1]);
  add_texts(corpus);
  add_arrays(corpus);
  add_sounds(corpus);
  add_images(corpus);
  add_pictures(corpus);
  corpus.add("run_record", run_record);
  corpus.add("run_record", text_record);
  add_tokenizers(corpus);
  add_run(corpus);
  add_caches(corpus);
  add_calibration(corpus);
  add_onnx(corpus);
}
