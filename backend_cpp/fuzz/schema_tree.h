// A flatbuffer as a tree that knows its schema: every table, string and vector is a node that can
// be changed, moved and shared, whatever the schema says of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "flatbuffers/flatbuffers.h"
#include "flatbuffers/minireflect.h"
#include "program_file.h"

namespace xir::fuzz {

struct Node;

struct Field {
  flatbuffers::TypeCode code{};
  const flatbuffers::TypeTable* type = nullptr;  // of a table, a union or an enum
  bool present = false;
  uint64_t scalar = 0;   // its bits, where the field is a number
  Node* node = nullptr;  // otherwise

  bool is_scalar() const;
};

struct Node {
  enum class Kind { kTable, kTables, kScalars, kString };

  Kind kind = Kind::kTable;
  const flatbuffers::TypeTable* type = nullptr;  // of a table, or of a vector's tables
  flatbuffers::ElementaryType element = flatbuffers::ET_UCHAR;  // of a vector of numbers
  std::vector<Field> fields;                                    // of a table, by field id
  std::vector<Node*> items;                                     // of a vector of tables
  Blob bytes;                                                   // of numbers, or a string's
};

// The nodes of a buffer and those that were added, reachable from the root or not. One node may
// have several places, where offsets of the file meet, and may even be its own ancestor.
class Tree {
 public:
  Node* New(Node node = {});

  Node* root = nullptr;

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
};

// `buffer` has passed flatbuffers' verifier.
Tree ReadTree(const Blob& buffer, const flatbuffers::TypeTable* root);

// A node that is its own ancestor is left out where it would repeat.
Blob WriteTree(const Tree& tree, const char* identifier);

// Every node that can be reached, once, the root first.
std::vector<Node*> AllNodes(const Tree& tree);

}  // namespace xir::fuzz
