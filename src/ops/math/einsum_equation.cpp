// SPDX-License-Identifier: Apache-2.0
#include "ops/math/einsum_equation.h"

#include <algorithm>
#include <string>

#include "base/text/ascii.h"

namespace narrowgauge {

namespace {

std::vector<std::string> terms_of(const std::string& text) {
  std::vector<std::string> terms{""};
  for (const char c : text) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  return terms;
}

// The labels of one term; "..." stands for so many axes.
Labels labels_of(std::string_view term, std::int64_t dots) {
  Labels labels;
  bool seen = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (is_letter(term[i])) {
      labels.push_back(term[i]);
      continue;
    }
    require(term.substr(i, 3) == "..." && !seen,
            "Einsum: a term must consist of letters and one '...', got '", term, "'");
    for (std::int64_t k = dots; k > 0; --k) labels.push_back(static_cast<int>(-k));
    seen = true;
    i += 2;
  }
  return labels;
}

Labels labels_of_input(std::string_view term, const Shape& shape) {
  const auto letters = static_cast<std::int64_t>(labels_of(term, 0).size());
  const auto rank = static_cast<std::int64_t>(shape.size());
  const bool has_dots = term.find('.') != std::string_view::npos;
  require(has_dots ? letters <= rank : letters == rank, "Einsum: term '", term,
          "' does not fit an input of shape ", shape);
  return labels_of(term, rank - letters);
}

}  // namespace

EinsumEquation::EinsumEquation(std::string_view text, const std::vector<Shape>& shapes) {
  std::string plain;
  std::copy_if(text.begin(), text.end(), std::back_inserter(plain),
               [](char c) { return c != ' '; });
  const std::size_t arrow = plain.find("->");
  const std::vector<std::string> inputs = terms_of(plain.substr(0, arrow));
  require(inputs.size() == shapes.size(), "Einsum: '", text, "' has ", inputs.size(), " terms for ",
          shapes.size(), " inputs");
  std::map<int, int> uses;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    terms.push_back(labels_of_input(inputs[i], shapes[i]));
    for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
      const int label = terms[i][axis];
      const Dim& size = shapes[i][axis];
      ++uses[label];
      Dim& known = sizes.try_emplace(label, size).first->second;
      if (label < 0 && known == Dim(1)) known = size;
      require(known == size || (label < 0 && size == Dim(1)), "Einsum: axis ", axis, " of input ",
              i, " is of size ", size, ", where '", text, "' has ", known);
    }
  }
  const auto dots =
      std::count_if(sizes.begin(), sizes.end(), [](const auto& entry) { return entry.first < 0; });
  if (arrow != std::string::npos) {
    output = labels_of(std::string_view(plain).substr(arrow + 2), dots);
  } else {
    for (const auto& [label, count] : uses)
      if (label < 0 || count == 1) output.push_back(label);
  }
  for (const int label : output)
    require(sizes.contains(label) && std::count(output.begin(), output.end(), label) == 1,
            "Einsum: the result of '", text, "' must have axes of the inputs, each once");
}

}  // namespace narrowgauge
