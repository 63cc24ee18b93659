#include "xnnpack/datatype.h"

namespace xir {

xnn_datatype ToXnnDatatype(graph::XNNDatatype datatype) {
  using graph::XNNDatatype;
  switch (datatype) {
    case XNNDatatype::Invalid:
      return xnn_datatype_invalid;
    case XNNDatatype::FP32:
      return xnn_datatype_fp32;
    case XNNDatatype::FP16:
      return xnn_datatype_fp16;
    case XNNDatatype::QInt8:
      return xnn_datatype_qint8;
    case XNNDatatype::QUInt8:
      return xnn_datatype_quint8;
    case XNNDatatype::QInt32:
      return xnn_datatype_qint32;
    case XNNDatatype::QCInt8:
      return xnn_datatype_qcint8;
    case XNNDatatype::QCInt32:
      return xnn_datatype_qcint32;
    case XNNDatatype::QCInt4:
      return xnn_datatype_qcint4;
    case XNNDatatype::QDInt8:
      return xnn_datatype_qdint8;
    case XNNDatatype::QBInt4:
      return xnn_datatype_qbint4;
    case XNNDatatype::QPInt8:
      return xnn_datatype_qpint8;
    case XNNDatatype::Int32:
      return xnn_datatype_int32;
    case XNNDatatype::PFP32:
      return xnn_datatype_pfp32;
    case XNNDatatype::BF16:
      return xnn_datatype_bf16;
  }
  return xnn_datatype_invalid;
}

size_t DatatypeBits(xnn_datatype datatype) {
  switch (datatype) {
    case xnn_datatype_fp32:
    case xnn_datatype_qint32:
    case xnn_datatype_qcint32:
    case xnn_datatype_int32:
      return 32;
    case xnn_datatype_fp16:
    case xnn_datatype_bf16:
      return 16;
    case xnn_datatype_qint8:
    case xnn_datatype_quint8:
    case xnn_datatype_qcint8:
    case xnn_datatype_qdint8:
      return 8;
    case xnn_datatype_qcint4:
    case xnn_datatype_qbint4:
      return 4;
    default:
      // The packed datatypes (qpint8, pfp32) are XNNPACK's own business.
      return 0;
  }
}

}  // namespace xir
