// SPDX-License-Identifier: Apache-2.0
#include "cli/task/network_choice.h"

#include "cli/common/text.h"
#include "cli/task/settings.h"
#include "cli/task/task.h"
#include "narrowgauge/language_models.h"

namespace narrowgauge::cli {

std::vector<std::string> model_choices(bool with_text) {
  std::vector<std::string> names = model_names();
  if (!with_text)
    std::erase_if(names, [](const auto& each) {
      return model_facts(each).input == InputKind::tokens && !is_language_model(each);
    });
  return names;
}

std::string model_help(bool with_text) { return "network: " + choices(model_choices(with_text)); }

void add_network_flags(CLI::App& app, NetworkFlags& flags) {
  add_required(app, {"--model,-m", "M", model_help(true), model_choices(true)}, flags.model);
  add_input_flags(app, flags);
}

void add_input_flags(CLI::App& app, NetworkFlags& flags) {
  add_text(app,
           {"--image,--data-shape", "CxHxW", "size of the images (that usual for the network)"},
           flags.image);
  add_whole(app, {"--classes", "N", "(as usual for the network)"}, flags.classes, 1);
  add_whole(app, {"--sequence", "N", "tokens of a text (128)"}, flags.sequence, 1);
  add_word(app, {"--head", "H", "of bert-base: classification (default) or question-answering"},
           flags.head, {"classification", "question-answering"});
}

NetworkChoice choose_network(const NetworkFlags& flags) {
  require_model(*flags.model);
  const ModelFacts& facts = model_facts(*flags.model);
  NetworkChoice choice;
  choice.model = *flags.model;
  choice.input = facts.input;
  choice.classes = flags.classes.value_or(facts.classes);
  if (facts.input == InputKind::images) {
    const char* const other = flags.sequence ? "--sequence" : "--head";
    require(!flags.sequence && !flags.head, other, ": ", choice.model, " takes images, not tokens");
    require(!flags.classes || choice.has_classes(), "--classes: ", choice.model,
            " has none, it gives its input again");
    choice.image = flags.image ? parse_image(*flags.image) : facts.image;
    return choice;
  }
  require(!flags.image, "--image: ", choice.model, " takes tokens, not images");
  choice.text = facts.text;
  choice.text.sequence = flags.sequence.value_or(facts.text.sequence);
  if (is_language_model(choice.model)) {
    require(!flags.head && !flags.classes, flags.head ? "--head: " : "--classes: ", choice.model,
            " has one output, the next token");
    return choice;
  }
  if (flags.head == "question-answering") choice.head = Head::question_answering;
  require(choice.head == Head::classification || !flags.classes,
          "--classes: question answering has none, it chooses tokens");
  return choice;
}

BuildNetwork NetworkChoice::build() const {
  if (input == InputKind::images) return find_model(model, image, classes);
  if (is_language_model(model)) return find_language_model(model, text);
  return bert_base(text, head, classes);
}

bool NetworkChoice::has_classes() const { return model_facts(model).output != OutputKind::image; }

Loss NetworkChoice::loss() const {
  if (!has_classes()) return mean_squared_error();
  if (is_language_model(model)) return next_token_cross_entropy();
  return head == Head::question_answering ? span_cross_entropy() : softmax_cross_entropy();
}

std::string NetworkChoice::what() const {
  if (input == InputKind::images)
    return concat("images ", image_text(image),
                  has_classes() ? concat(", ", classes, " classes") : "");
  const std::string tokens = concat("sequences of ", text.sequence, " tokens, ");
  if (is_language_model(model)) return concat(tokens, "a vocabulary of ", text.vocabulary);
  return head == Head::question_answering ? tokens + "question answering"
                                          : concat(tokens, classes, " classes");
}

std::string NetworkChoice::sample() const {
  return input == InputKind::images ? "image" : "sequence";
}

std::map<std::string, WholeNumbers> NetworkChoice::ranges() const {
  if (is_language_model(model))
    return {{"labels", {0, text.vocabulary}}, {"tokens", {0, text.vocabulary}}};
  const bool span = head == Head::question_answering;
  return {{"labels", {0, span ? text.sequence : classes}},
          {"input_ids", {0, text.vocabulary}},
          {"token_type_ids", {0, 2}},
          {"attention_mask", {1, 1}}};
}

void NetworkChoice::describe(JsonObject& json) const {
  json.add("model", model);
  if (input == InputKind::images) {
    json.add("image", image_text(image));
    if (has_classes()) json.add("classes", classes);
    return;
  }
  json.add("sequence", text.sequence).add("vocabulary", text.vocabulary);
  if (is_language_model(model)) return;
  if (head == Head::question_answering)
    json.add("head", "question-answering");
  else
    json.add("head", "classification").add("classes", classes);
}

}  // namespace narrowgauge::cli
