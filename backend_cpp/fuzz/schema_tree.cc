#include "schema_tree.h"

#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace xir::fuzz {
namespace {

using flatbuffers::ElementaryType;
using flatbuffers::Offset;
using flatbuffers::TypeTable;

// What force_align gives the vectors that hold data.
constexpr size_t kDataAlignment = 16;

uint64_t ReadBits(const uint8_t* at, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, size);
  return bits;
}

size_t ScalarSize(ElementaryType type) { return flatbuffers::InlineSize(type, nullptr); }

class Reader {
 public:
  explicit Reader(Tree* tree) : tree_(*tree) {}

  Node* Table(const uint8_t* at, const TypeTable* type) {
    if (const auto known = nodes_.find(at); known != nodes_.end()) return known->second;
    auto node = tree_.New();
    nodes_.emplace(at, node);
    node->kind = Node::Kind::kTable;
    node->type = type;
    node->fields.resize(type->num_elems);
    const auto& table = *reinterpret_cast<const flatbuffers::Table*>(at);
    for (size_t i = 0; i < type->num_elems; ++i) {
      Field& field = node->fields[i];
      field.code = type->type_codes[i];
      if (field.code.sequence_ref >= 0) field.type = type->type_refs[field.code.sequence_ref]();
      const uint8_t* value =
          table.GetAddressOf(flatbuffers::FieldIndexToOffset(static_cast<uint16_t>(i)));
      if (value == nullptr) continue;
      field.present = true;
      if (field.is_scalar()) {
        field.scalar = ReadBits(value, ScalarSize(ElementaryType(field.code.base_type)));
      } else {
        field.node = Reference(value, field, i == 0 ? nullptr : &node->fields[i - 1]);
      }
    }
    return node;
  }

 private:
  Node* Reference(const uint8_t* value, const Field& field, const Field* tag) {
    const uint8_t* to = value + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(value);
    const auto element = static_cast<ElementaryType>(field.code.base_type);
    if (field.code.is_repeating) return Vector(to, element, field.type);
    if (element == flatbuffers::ET_STRING) return String(to);
    if (field.type->st != flatbuffers::ST_UNION) return Table(to, field.type);
    const TypeTable* member = UnionMember(field.type, tag->scalar);
    return member == nullptr ? nullptr : Table(to, member);
  }

  static const TypeTable* UnionMember(const TypeTable* type, uint64_t tag) {
    const int64_t index =
        flatbuffers::LookupEnum(static_cast<int64_t>(tag), type->values, type->num_elems);
    if (index < 0 || index >= static_cast<int64_t>(type->num_elems)) return nullptr;
    const int ref = type->type_codes[index].sequence_ref;
    return ref < 0 ? nullptr : type->type_refs[ref]();
  }

  Node* String(const uint8_t* at) {
    if (const auto known = nodes_.find(at); known != nodes_.end()) return known->second;
    auto node = tree_.New();
    nodes_.emplace(at, node);
    node->kind = Node::Kind::kString;
    const auto& text = *reinterpret_cast<const flatbuffers::String*>(at);
    node->bytes.assign(text.Data(), text.Data() + text.size());
    return node;
  }

  Node* Vector(const uint8_t* at, ElementaryType element, const TypeTable* type) {
    if (const auto known = nodes_.find(at); known != nodes_.end()) return known->second;
    auto node = tree_.New();
    nodes_.emplace(at, node);
    node->type = type;
    node->element = element;
    const auto count = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at);
    const uint8_t* data = at + sizeof(flatbuffers::uoffset_t);
    if (element != flatbuffers::ET_SEQUENCE) {
      node->kind = Node::Kind::kScalars;
      node->bytes.assign(data, data + count * ScalarSize(element));
      return node;
    }
    node->kind = Node::Kind::kTables;
    for (size_t i = 0; i < count; ++i, data += sizeof(flatbuffers::uoffset_t)) {
      node->items.push_back(
          Table(data + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(data), type));
    }
    return node;
  }

  Tree& tree_;
  std::unordered_map<const uint8_t*, Node*> nodes_;
};

class Writer {
 public:
  Blob Write(const Node* root, const char* identifier) {
    builder_.ForceDefaults(true);
    builder_.Finish(Offset<void>(Place(*root)), identifier);
    return Blob(builder_.GetBufferPointer(), builder_.GetBufferPointer() + builder_.GetSize());
  }

 private:
  // The offset of a node; 0 for an ancestor of itself.
  flatbuffers::uoffset_t Place(const Node& node) {
    if (const auto known = placed_.find(&node); known != placed_.end()) return known->second;
    placed_.emplace(&node, 0);
    const flatbuffers::uoffset_t offset = PlaceNew(node);
    placed_[&node] = offset;
    return offset;
  }

  flatbuffers::uoffset_t PlaceNew(const Node& node) {
    switch (node.kind) {
      case Node::Kind::kTable:
        return PlaceTable(node);
      case Node::Kind::kTables: {
        std::vector<Offset<void>> offsets;
        for (const Node* item : node.items) {
          if (const auto offset = Place(*item); offset != 0) offsets.emplace_back(offset);
        }
        return builder_.CreateVector(offsets).o;
      }
      case Node::Kind::kScalars: {
        const size_t size = ScalarSize(node.element);
        const size_t count = node.bytes.size() / size;
        if (size == 1) builder_.ForceVectorAlignment(count, size, kDataAlignment);
        builder_.StartVector(count, size);
        builder_.PushBytes(node.bytes.data(), count * size);
        return builder_.EndVector(count);
      }
      case Node::Kind::kString:
        return builder_
            .CreateString(reinterpret_cast<const char*>(node.bytes.data()), node.bytes.size())
            .o;
    }
    return 0;
  }

  flatbuffers::uoffset_t PlaceTable(const Node& node) {
    std::vector<flatbuffers::uoffset_t> offsets(node.fields.size(), 0);
    for (size_t i = 0; i < node.fields.size(); ++i) {
      if (node.fields[i].node != nullptr) offsets[i] = Place(*node.fields[i].node);
    }
    const auto start = builder_.StartTable();
    // Large fields first, as writers order them to save padding.
    for (const size_t size : {size_t{8}, size_t{4}, size_t{2}, size_t{1}}) {
      for (size_t i = 0; i < node.fields.size(); ++i) AddField(node, i, size, offsets[i]);
    }
    return builder_.EndTable(start);
  }

  void AddField(const Node& node, size_t i, size_t size, flatbuffers::uoffset_t offset) {
    const Field& field = node.fields[i];
    const auto slot = flatbuffers::FieldIndexToOffset(static_cast<uint16_t>(i));
    if (!field.present) return;
    if (!field.is_scalar()) {
      if (size == sizeof(offset) && offset != 0) builder_.AddOffset(slot, Offset<void>(offset));
      return;
    }
    if (ScalarSize(ElementaryType(field.code.base_type)) != size) return;
    switch (size) {
      case 1:
        return builder_.AddElement<uint8_t>(slot, static_cast<uint8_t>(field.scalar), 0);
      case 2:
        return builder_.AddElement<uint16_t>(slot, static_cast<uint16_t>(field.scalar), 0);
      case 4:
        return builder_.AddElement<uint32_t>(slot, static_cast<uint32_t>(field.scalar), 0);
      default:
        return builder_.AddElement<uint64_t>(slot, field.scalar, 0);
    }
  }

  flatbuffers::FlatBufferBuilder builder_;
  std::unordered_map<const Node*, flatbuffers::uoffset_t> placed_;
};

void Collect(Node* node, std::unordered_set<const Node*>* seen, std::vector<Node*>* all) {
  if (node == nullptr || !seen->insert(node).second) return;
  all->push_back(node);
  for (const Field& field : node->fields) Collect(field.node, seen, all);
  for (Node* item : node->items) Collect(item, seen, all);
}

}  // namespace

bool Field::is_scalar() const {
  return !code.is_repeating && code.base_type != flatbuffers::ET_STRING &&
         code.base_type != flatbuffers::ET_SEQUENCE;
}

Node* Tree::New(Node node) {
  nodes_.push_back(std::make_unique<Node>(std::move(node)));
  return nodes_.back().get();
}

Tree ReadTree(const Blob& buffer, const TypeTable* root) {
  Tree tree;
  tree.root = Reader(&tree).Table(
      buffer.data() + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(buffer.data()), root);
  return tree;
}

Blob WriteTree(const Tree& tree, const char* identifier) {
  return Writer().Write(tree.root, identifier);
}

std::vector<Node*> AllNodes(const Tree& tree) {
  std::vector<Node*> all;
  std::unordered_set<const Node*> seen;
  Collect(tree.root, &seen, &all);
  return all;
}

}  // namespace xir::fuzz
