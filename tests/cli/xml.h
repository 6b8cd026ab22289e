// SPDX-License-Identifier: Apache-2.0
// A strict reader of XML: every element is closed, attributes stand in quotes, and there are no
// entities but those of XML. Enough to look at pages and drawings.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace narrowgauge::testing_cli {

class Xml {
 public:
  // The only element of a text; throws std::runtime_error for what is not well-formed.
  static Xml parse(const std::string& text) {
    Reader reader{text};
    reader.skip_blanks();
    if (reader.rest().starts_with("<!DOCTYPE html>")) reader.at += 15;
    reader.skip_blanks();
    const Xml root = reader.element();
    reader.skip_blanks();
    if (reader.at != text.size()) reader.fail("text after the last element");
    return root;
  }

  const std::string& name() const { return name_; }
  std::string attribute(const std::string& key) const {
    const auto found = attributes_.find(key);
    return found == attributes_.end() ? "" : found->second;
  }
  // All text within, without that of elements called title in elements of other names.
  std::string text() const {
    std::string all = text_;
    for (const Xml& child : children_)
      if (child.name_ != "title") all += child.text();
    return all;
  }
  // All elements of a name, in their order; with an attribute if one is given.
  std::vector<const Xml*> all(const std::string& name, const std::string& key = "",
                              const std::string& value = "") const {
    std::vector<const Xml*> found;
    if (name_ == name && (key.empty() || attribute(key) == value)) found.push_back(this);
    for (const Xml& child : children_)
      for (const Xml* each : child.all(name, key, value)) found.push_back(each);
    return found;
  }
  int count(const std::string& name, const std::string& key = "",
            const std::string& value = "") const {
    return static_cast<int>(all(name, key, value).size());
  }
  const Xml& find(const std::string& name, const std::string& key = "",
                  const std::string& value = "") const {
    const auto found = all(name, key, value);
    if (found.empty()) throw std::runtime_error("no element " + name + ' ' + key + '=' + value);
    return *found.front();
  }
  std::vector<std::string> texts(const std::string& name) const {
    std::vector<std::string> texts;
    for (const Xml* each : all(name)) texts.push_back(each->text());
    return texts;
  }
  const std::map<std::string, std::string>& attributes() const { return attributes_; }
  const std::vector<Xml>& children() const { return children_; }

 private:
  struct Reader {
    const std::string& source;
    std::size_t at = 0;

    std::string_view rest() const { return std::string_view(source).substr(at); }
    [[noreturn]] void fail(const std::string& why) const {
      throw std::runtime_error(why + " at: " + source.substr(at > 40 ? at - 40 : 0, 120));
    }
    void expect(std::string_view what) {
      if (!rest().starts_with(what)) fail("expected " + std::string(what));
      at += what.size();
    }
    void skip_blanks() {
      while (at < source.size() && (source[at] == ' ' || source[at] == '\n')) ++at;
    }
    std::string word() {
      const std::size_t begin = at;
      while (at < source.size() && source.find_first_of(" =\n<>/\"", at) != at) ++at;
      if (at == begin) fail("expected a name");
      return source.substr(begin, at - begin);
    }
    // The text up to a character, with entities resolved.
    std::string characters(char end) {
      std::string text;
      while (at < source.size() && source[at] != end) {
        if (source[at] == '<' || static_cast<unsigned char>(source[at]) < 9)
          fail("wrong character");
        text += source[at] == '&' ? entity() : source[at++];
      }
      return text;
    }
    char entity() {
      const std::pair<std::string_view, char> known[] = {
          {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}};
      for (const auto& [name, meaning] : known)
        if (rest().starts_with(name)) {
          at += name.size();
          return meaning;
        }
      fail("unknown entity");
    }
    Xml element() {
      Xml element;
      expect("<");
      element.name_ = word();
      for (skip_blanks(); rest().starts_with('>') == rest().starts_with("/>"); skip_blanks()) {
        const std::string key = word();
        expect("=\"");
        if (!element.attributes_.emplace(key, characters('"')).second) fail("twice " + key);
        expect("\"");
      }
      if (rest().starts_with("/>")) return expect("/>"), element;
      expect(">");
      while (!rest().starts_with("</")) {
        element.text_ += characters('<');
        if (at == source.size()) fail("not closed: " + element.name_);
        if (!rest().starts_with("</")) element.children_.push_back(this->element());
      }
      expect("</" + element.name_ + ">");
      return element;
    }
  };

  std::string name_, text_;
  std::map<std::string, std::string> attributes_;
  std::vector<Xml> children_;
};

}  // namespace narrowgauge::testing_cli
