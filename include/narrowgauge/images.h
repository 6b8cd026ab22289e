// SPDX-License-Identifier: Apache-2.0
// Pictures as data: folders with a subfolder for each class, which are read while they are used,
// and how pictures become inputs of a network, changed at random in training.
//
//   const ImageFolder photos = read_image_folder("photos");
//   ImageInput input{.channels = 3, .height = 64, .width = 64};
//   input.statistics = channel_statistics(photos.training, input);
//   auto test = std::make_shared<ImageSource>(photos.test, input);
//   input.augment = "resized_crop, flip";
//   auto training = std::make_shared<ImageSource>(photos.training, input);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "narrowgauge/tables.h"

namespace narrowgauge {

// A picture in a file: JPEG, PNG, WebP, BMP or PNM; or a sound, WAV, FLAC, Ogg or MP3, whose
// picture is its spectrogram: grey, 64 mel bands from 125 to 7,500 Hz high (the highest is the
// first row), a column every 10 ms of a window of 25 ms, white for the loudest band of the sound
// and black for 80 dB below it. In a wider input it stands in the middle of silence.
struct NG_API ImageFile {
  std::string path;        // of the file
  std::int64_t label = 0;  // index of its class
};

// A folder of pictures in its two parts.
struct NG_API ImageFolder {
  std::string path;                           // as given
  std::vector<std::string> classes{};         // names of the subfolders, in order of their bytes
  std::vector<ImageFile> training{}, test{};  // in order of class and path
  std::vector<std::string> other_files{};     // in it, that are no pictures by their names
};

// A picture in a file, and the file of its mask, which says what each pixel shows.
struct NG_API MaskedImage {
  std::string path;  // of the picture
  std::string mask;  // PNG, BMP or PNM of the same size with one number a pixel
};

// A folder of pictures with masks in its two parts.
struct NG_API SegmentationFolder {
  std::string path;  // as given
  // Whether all numbers of a mask but 0 are class 1, as of shapes that are white or numbered; else
  // they are the classes, and 255 counts for nothing.
  bool foreground = false;
  std::int64_t classes = 2;                     // of pixels
  std::vector<MaskedImage> training{}, test{};  // in order of their paths
  std::vector<std::string> other_files{};       // in it, without a partner
};

// How a set is read.
struct NG_API DataOptions {
  double test_share = 0.2;          // of the samples of a set without a part for the test, 0 to 1
  std::string label{};              // of a table: TableOptions
  std::vector<std::string> skip{};  // of a table
  std::string table{};              // of a table: TableOptions::schema
  bool labels = true;               // of pictures: false takes those at any depth, without classes
};

// Reads a folder with a subfolder for each class, which hold pictures or sounds at any depth, or
// with folders train and val, valid, validation or test that each hold such subfolders. Of a single
// folder each class gives its share to the test: which pictures depends on their paths alone. What
// begins with a dot is passed over. Throws DataError for a class without pictures, fewer than two
// classes, or a class of the test that the training has not. Without labels folders are no classes,
// and all pictures have label 0.
NG_API ImageFolder read_image_folder(const std::string& folder, const DataOptions& options = {});
// All pictures and sounds in a folder at any depth, by name and in order of their paths; or a
// single file. Throws DataError where there is none.
NG_API std::vector<std::string> find_images(const std::string& path);

// Reads a folder with a folder images and one of masks, labels, annotations or instances, which
// hold files of the same names but for their endings; or with folders train and val, valid,
// validation or test that each hold such two. Masks in a folder instances, and those of 0 and 255
// alone, tell foreground from background. Throws DataError for masks that are none, or no pairs.
NG_API SegmentationFolder read_segmentation_folder(const std::string& folder,
                                                   const DataOptions& options = {});

// What a data set is read as: arrays in memory, pictures of classes, or pictures with masks.
using Data = std::variant<DataSplit, ImageFolder, SegmentationFolder>;
// Opens a set of any kind as load_data() does.
NG_API Data open_data(const std::string& name_or_path, const DataOptions& options = {});

// How pictures become an input f32 [channels, height, width] of (x - mean) / deviation, where x is
// pixel / 255.
struct NG_API ImageInput {
  std::int64_t channels = 3;  // 3: RGB; 1: grey
  // Pixels. The largest part in the middle of a picture that has this shape is resized, unless the
  // changes choose another part; small images of sets in memory get black around them instead.
  std::int64_t height = 224;
  std::int64_t width = 224;                      // pixels, as the height
  ChannelStatistics statistics{{0.0f}, {1.0f}};  // one number for all channels, or one for each
  std::string augment{};   // random changes, as augmentation_help() lists them: "flip, crop(4)"
  std::uint64_t seed = 1;  // of the changes, a function of (seed, epoch, sample)
  bool whole = false;      // pictures in files are resized as a whole, whatever their shape
  bool strict = false;     // a damaged picture is a DataError; else it is left out
  ImageLayout layout = ImageLayout::automatic;  // of sets in memory
};

// "crop(padding=4), ...": the random changes that there are, each with what it does.
NG_API std::string augmentation_help();
NG_API void check_augmentations(std::string_view text);  // throws UsageError

// Pictures, read and changed by any number of threads; images f32 [N,C,H,W] and labels i64 [N], or
// of masks i64 [N,H,W].
class NG_API ImageSource : public DataSource {
 public:
  // Throws UsageError for an input that makes no sense.
  ImageSource(std::vector<ImageFile> files, const ImageInput& input);
  // Pictures with masks, in which -100 stands where nothing is known. Pictures are resized as a
  // whole.
  ImageSource(std::vector<MaskedImage> files, bool foreground, const ImageInput& input);
  // Images of a set whose only input is images u8 with as many channels as `input`, or one, and
  // whose target is labels.
  ImageSource(const DataSet& set, const ImageInput& input);
  ~ImageSource() override;

  std::int64_t size() const override;
  TensorTypes sample_types() const override;
  void read(std::span<const std::int64_t> indices, std::span<Tensor> batch) override;
  std::vector<std::int64_t> read_epoch(std::span<const std::int64_t> indices, std::int64_t epoch,
                                       std::span<Tensor> batch) override;
  bool reads_in_parallel() const override { return true; }
  // Pictures that could not be read so far. The log has a warning for each of the first ten.
  std::int64_t damaged() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// Columns of the usual (median) sound, at most 1,000; 0 where most of the files are pictures.
NG_API std::int64_t usual_sound_columns(const std::vector<ImageFile>& files);

// The statistics of up to 512 of the pictures, evenly chosen, as `input` cuts and resizes them;
// damaged ones are passed over. Throws DataError where none can be read.
NG_API ChannelStatistics channel_statistics(const std::vector<ImageFile>& files,
                                            const ImageInput& input);

}  // namespace narrowgauge
