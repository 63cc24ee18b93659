#include "mutate.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "debug_generated.h"
#include "program_generated.h"
#include "schema_tree.h"
#include "xnnpack_generated.h"

namespace xir::fuzz {
namespace {

// Enough to make cost that grows with a square of it show.
constexpr uint64_t kManyCopies = 2000;
constexpr uint64_t kManyItems = 8000;

// None of a node that mutations have put in a table's place, and which is no table.
Field* FieldOf(Node* table, const char* name) {
  if (table->kind != Node::Kind::kTable) return nullptr;
  for (size_t i = 0; i < table->type->num_elems; ++i) {
    if (std::strcmp(table->type->names[i], name) == 0) return &table->fields[i];
  }
  return nullptr;
}

class TreeMutator {
 public:
  TreeMutator(Tree* tree, Draws* draws) : tree_(*tree), draws_(*draws) {}

  // All that was right stays so, but for what sizes allow.
  void MutateSizes() {
    nodes_ = AllNodes(tree_);
    Stretch();
  }

  // The sizes that tensors have, each once.
  std::vector<int32_t> DistinctSizes() {
    nodes_ = AllNodes(tree_);
    std::vector<int32_t> found;
    for (const Node* sizes : AllSizes()) {
      for (size_t at = 0; at + sizeof(int32_t) <= sizes->bytes.size(); at += sizeof(int32_t)) {
        int32_t size;
        std::memcpy(&size, sizes->bytes.data() + at, sizeof(size));
        if (std::find(found.begin(), found.end(), size) == found.end()) found.push_back(size);
      }
    }
    return found;
  }

  // Wherever there is the size `old`, in tensors or as a number, there is `large`; tensors that
  // have so many dimensions have no elements in that of `emptied`.
  void StretchTo(int32_t old, int32_t large, size_t emptied) {
    nodes_ = AllNodes(tree_);
    for (Node* node : nodes_) {
      Field* number = FieldOf(node, "int_val");
      if (number != nullptr && number->scalar == static_cast<uint64_t>(old)) {
        number->scalar = static_cast<uint64_t>(large);
      }
    }
    for (Node* sizes : AllSizes()) {
      for (size_t at = 0; at + sizeof(int32_t) <= sizes->bytes.size(); at += sizeof(int32_t)) {
        int32_t size;
        std::memcpy(&size, sizes->bytes.data() + at, sizeof(size));
        if (size == old) size = large;
        if (at == emptied * sizeof(int32_t)) size = 0;
        std::memcpy(sizes->bytes.data() + at, &size, sizeof(size));
      }
    }
  }

  void Mutate() {
    nodes_ = AllNodes(tree_);
    if (draws_.OneIn(6)) return draws_.OneIn(2) ? Crowd() : Stretch();
    Node& node = *nodes_[draws_.Below(nodes_.size())];
    switch (node.kind) {
      case Node::Kind::kTable:
        return MutateTable(&node);
      case Node::Kind::kTables:
        return MutateTables(&node);
      case Node::Kind::kScalars:
        return MutateScalars(&node);
      case Node::Kind::kString:
        return MutateString(&node);
    }
  }

 private:
  // Many places come to share long parts: lists and strings that are lengthened, elements of lists
  // that are repeated, one part in all places of its like.
  void Crowd() {
    for (uint64_t i = 1 + draws_.Below(4); i > 0; --i) {
      switch (draws_.Below(4)) {
        case 0:
        case 1:
          Lengthen();
          break;
        case 2:
          Multiply();
          break;
        default:
          Unite();
      }
    }
  }

  // Where a size stands, in tensors or as a number, there is a large one then, and mostly tensors
  // have no elements: whoever walks what is left of such a shape walks for ever.
  void Stretch() {
    constexpr int32_t kLarge[] = {INT32_MAX, 1 << 30, 1 << 20, 1 << 16};
    const std::vector<Node*> all = AllSizes();
    if (all.empty()) return;
    const int32_t old = AnySize(*all[draws_.Below(all.size())]);
    StretchTo(old, draws_.Of(kLarge), draws_.OneIn(4) ? 16 : draws_.Below(3));
  }

  std::vector<Node*> AllSizes() {
    std::vector<Node*> all;
    for (Node* node : nodes_) {
      const Field* sizes = FieldOf(node, "sizes");
      if (sizes != nullptr && sizes->node != nullptr &&
          sizes->node->bytes.size() >= sizeof(int32_t)) {
        all.push_back(sizes->node);
      }
    }
    return all;
  }

  int32_t AnySize(const Node& sizes) {
    int32_t size;
    const size_t at = draws_.Below(sizes.bytes.size() / sizeof(size)) * sizeof(size);
    std::memcpy(&size, sizes.bytes.data() + at, sizeof(size));
    return size;
  }

  // A string, or a list of indices; sizes of a tensor would only be too many.
  void Lengthen() {
    Field* field = AnyField([](const Node& table, size_t i) {
      const Node* node = table.fields[i].node;
      if (node == nullptr || node->bytes.empty()) return false;
      const std::string_view name = table.type->names[i];
      return node->kind == Node::Kind::kString || name == "args" || name == "items" ||
             name == "inputs" || name == "outputs" || name == "instructions";
    });
    if (field == nullptr) return;
    Blob& bytes = field->node->bytes;
    const size_t size = bytes.size(), wanted = size * (1 + draws_.Below(kManyItems) / size);
    while (bytes.size() < wanted) bytes.push_back(bytes[bytes.size() - size]);
  }

  void Multiply() {
    Field* field = AnyField([](const Node& table, size_t i) {
      const Node* node = table.fields[i].node;
      return node != nullptr && node->kind == Node::Kind::kTables && !node->items.empty();
    });
    if (field == nullptr) return;
    auto& items = field->node->items;
    items.insert(items.end(), draws_.Below(kManyCopies), items[draws_.Below(items.size())]);
  }

  // What one field leads to is what those of its name in tables of its type lead to.
  void Unite() {
    Field* field =
        AnyField([](const Node& table, size_t i) { return table.fields[i].node != nullptr; });
    if (field == nullptr) return;
    Node* shared = field->node;
    for (Node* node : nodes_) {
      if (node->kind != Node::Kind::kTable || node->type != found_in_->type) continue;
      Field& like = node->fields[static_cast<size_t>(field - found_in_->fields.data())];
      if (like.node != nullptr) like.node = shared;
    }
  }

  // A field for which `fits`, of a table that becomes `found_in_`; null if there is none.
  template <typename Predicate>
  Field* AnyField(const Predicate& fits) {
    const size_t start = draws_.Below(nodes_.size());
    for (size_t n = 0; n < nodes_.size(); ++n) {
      Node* node = nodes_[(start + n) % nodes_.size()];
      if (node->kind != Node::Kind::kTable || node->fields.empty()) continue;
      const size_t first = draws_.Below(node->fields.size());
      for (size_t i = 0; i < node->fields.size(); ++i) {
        const size_t at = (first + i) % node->fields.size();
        if (!fits(*node, at)) continue;
        found_in_ = node;
        return &node->fields[at];
      }
    }
    return nullptr;
  }

  void MutateTable(Node* table) {
    if (table->fields.empty()) return;
    Field& field = table->fields[draws_.Below(table->fields.size())];
    if (field.is_scalar()) {
      field.present = !draws_.OneIn(16);
      field.scalar = NewNumber(field.scalar, &field);
      return;
    }
    const uint64_t how = draws_.Below(8);
    if (how == 0) {
      field.present = false;
      return;
    }
    // Another node in its place: the same one for both, or a copy.
    const bool any_type = how == 1;
    Node* other = Other([&](const Node& node) {
      return any_type || (field.node != nullptr && node.kind == field.node->kind &&
                          node.type == field.node->type);
    });
    if (other == nullptr) return;
    field.present = true;
    field.node = draws_.OneIn(2) ? other : tree_.New(*other);
  }

  void MutateTables(Node* vector) {
    auto& items = vector->items;
    if (items.empty()) return;
    const size_t i = draws_.Below(items.size());
    const size_t j = draws_.Below(items.size());
    const auto at = items.begin() + static_cast<std::ptrdiff_t>(i);
    switch (draws_.Below(7)) {
      case 0:
        items.erase(at);
        return;
      case 1:
        std::swap(items[i], items[j]);
        return;
      case 2:
        items.insert(at, items[j]);
        return;
      case 3:
        items.insert(at, tree_.New(*items[j]));
        return;
      case 4:
        items[i] = items[j];
        return;
      case 5:
        items.insert(at, 1 + draws_.Below(draws_.OneIn(8) ? kManyCopies : 16), items[j]);
        return;
      default:
        Node* other = Other(
            [&](const Node& node) { return node.kind == Node::Kind::kTable && &node != vector; });
        if (other != nullptr) items[i] = other;
    }
  }

  void MutateScalars(Node* vector) {
    const size_t size = flatbuffers::InlineSize(vector->element, nullptr);
    Blob& bytes = vector->bytes;
    const size_t count = bytes.size() / size;
    const size_t i = count == 0 ? 0 : draws_.Below(count) * size;
    const auto at = [&](size_t offset) {
      return bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    };
    switch (draws_.Below(count == 0 ? 1 : 5)) {
      case 0: {
        const uint64_t number = NewNumber(0, nullptr);
        bytes.insert(at(i), reinterpret_cast<const uint8_t*>(&number),
                     reinterpret_cast<const uint8_t*>(&number) + size);
        return;
      }
      case 1:
        bytes.erase(at(i), at(i + size));
        return;
      case 2: {
        const size_t j = draws_.Below(count) * size;
        std::swap_ranges(at(i), at(i + size), at(j));
        return;
      }
      default: {
        uint64_t number = 0;
        std::memcpy(&number, bytes.data() + i, size);
        number = NewNumber(number, nullptr);
        std::memcpy(bytes.data() + i, &number, size);
      }
    }
  }

  void MutateString(Node* text) {
    const Node* other = Other([](const Node& node) { return node.kind == Node::Kind::kString; });
    if (other != nullptr && !draws_.OneIn(4)) {
      text->bytes = other->bytes;
    } else if (!text->bytes.empty()) {
      text->bytes[draws_.Below(text->bytes.size())] ^= static_cast<uint8_t>(draws_.Below(256));
    }
  }

  uint64_t NewNumber(uint64_t old, const Field* field) {
    constexpr float kFloats[] = {0.0F, 1.0F, -1.0F, 1e-30F, 1e30F, 0.5F};
    switch (draws_.Below(6)) {
      case 0:
        return old + 1;
      case 1:
        return old - 1;
      case 2:
        return OddNumber(&draws_);
      case 3: {
        const float number = draws_.Of(kFloats);
        uint32_t bits;
        std::memcpy(&bits, &number, sizeof(bits));
        return bits;
      }
      case 4: {
        // What another field says: ids, types and sizes that the file knows.
        const Node* other = nodes_[draws_.Below(nodes_.size())];
        if (field == nullptr || other->fields.empty()) return draws_.Below(16);
        return other->fields[draws_.Below(other->fields.size())].scalar;
      }
      default:
        return draws_.Below(8);
    }
  }

  template <typename Predicate>
  Node* Other(const Predicate& fits) {
    const size_t start = draws_.Below(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Node* node = nodes_[(start + i) % nodes_.size()];
      if (fits(*node)) return node;
    }
    return nullptr;
  }

  Tree& tree_;
  Draws& draws_;
  std::vector<Node*> nodes_;
  Node* found_in_ = nullptr;
};

bool MutateGraph(Blob* blob, Draws* draws) {
  Blob graph;
  Blob constants;
  if (!ReadDelegateBlob(*blob, &graph, &constants)) return false;
  flatbuffers::Verifier verifier(graph.data(), graph.size(), /*max_depth=*/64,
                                 static_cast<flatbuffers::uoffset_t>(graph.size() / 4));
  if (!verifier.VerifyBuffer<graph::XNNGraph>(nullptr)) return false;
  Tree tree = ReadTree(graph, graph::XNNGraphTypeTable());
  for (uint64_t i = 1 + draws->Below(4); i > 0; --i) TreeMutator(&tree, draws).Mutate();
  *blob = WriteDelegateBlob(WriteTree(tree, graph::XNNGraphIdentifier()), constants);
  return true;
}

// The debug information that is a segment.
bool MutateDebugInfo(std::vector<Blob>* segments, Draws* draws) {
  for (Blob& segment : *segments) {
    flatbuffers::Verifier verifier(segment.data(), segment.size(), /*max_depth=*/64,
                                   static_cast<flatbuffers::uoffset_t>(segment.size() / 4));
    if (segment.size() < 8 || !debug::VerifyDebugInfoBuffer(verifier)) continue;
    Tree tree = ReadTree(segment, debug::DebugInfoTypeTable());
    for (uint64_t i = 1 + draws->Below(4); i > 0; --i) TreeMutator(&tree, draws).Mutate();
    segment = WriteTree(tree, debug::DebugInfoIdentifier());
    return true;
  }
  return false;
}

// The segments' new places, in the table that lists them.
void ListSegments(Node* program, const std::vector<Blob>& segments) {
  const Field* list = FieldOf(program, "segments");
  const std::vector<Extent> extents = PlaceSegments(segments);
  for (size_t i = 0; i < extents.size() && i < list->node->items.size(); ++i) {
    Field* offset = FieldOf(list->node->items[i], "offset");
    Field* size = FieldOf(list->node->items[i], "size");
    // A table of another type may stand in the list.
    if (offset == nullptr || size == nullptr) continue;
    offset->scalar = extents[i].offset;
    size->scalar = extents[i].size;
    offset->present = size->present = true;
  }
}

// A graph that is a segment, or inside of the program's flatbuffer.
bool MutateSomeGraph(ProgramFile* file, Node* program, Draws* draws) {
  std::vector<Blob*> blobs;
  for (Blob& segment : file->segments) blobs.push_back(&segment);
  if (const Field* inlined = FieldOf(program, "backend_delegate_data"); inlined->node != nullptr) {
    for (Node* item : inlined->node->items) {
      // A table of another type may stand in the list.
      const Field* data = FieldOf(item, "data");
      if (data != nullptr && data->node != nullptr) blobs.push_back(&data->node->bytes);
    }
  }
  if (blobs.empty()) return false;
  const size_t start = draws->Below(blobs.size());
  for (size_t i = 0; i < blobs.size(); ++i) {
    if (MutateGraph(blobs[(start + i) % blobs.size()], draws)) return true;
  }
  return false;
}

}  // namespace

Blob MutateProgramFile(Bytes bytes, Draws* draws) {
  ProgramFile file;
  if (!ReadProgramFile(bytes, &file)) return {};
  Tree tree = ReadTree(file.program, program::ProgramTypeTable());
  if (draws->OneIn(6)) {
    TreeMutator(&tree, draws).MutateSizes();
    file.program = WriteTree(tree, program::ProgramIdentifier());
    return WriteProgramFile(file);
  }
  const bool in_graph =
      draws->OneIn(2) && (draws->OneIn(4) ? MutateDebugInfo(&file.segments, draws)
                                          : MutateSomeGraph(&file, tree.root, draws));
  if (!file.segments.empty()) ListSegments(tree.root, file.segments);
  if (!in_graph || draws->OneIn(4)) {
    for (uint64_t i = 1 + draws->Below(4); i > 0; --i) TreeMutator(&tree, draws).Mutate();
  }
  file.program = WriteTree(tree, program::ProgramIdentifier());
  return WriteProgramFile(file);
}

std::vector<Blob> StretchedPrograms(Bytes bytes) {
  constexpr int32_t kLarge = 1 << 30;
  constexpr size_t kDimensions = 4;
  ProgramFile file;
  if (!ReadProgramFile(bytes, &file)) return {};
  const Blob original = file.program;
  Draws none{Bytes()};
  const auto read = [&] { return ReadTree(original, program::ProgramTypeTable()); };
  std::vector<Blob> programs;
  Tree tree = read();
  for (const int32_t size : TreeMutator(&tree, &none).DistinctSizes()) {
    for (size_t emptied = 0; emptied <= kDimensions; ++emptied) {
      Tree stretched = read();
      TreeMutator(&stretched, &none).StretchTo(size, kLarge, emptied);
      file.program = WriteTree(stretched, program::ProgramIdentifier());
      programs.push_back(WriteProgramFile(file));
    }
  }
  return programs;
}

}  // namespace xir::fuzz
