/* What the shared library shows; everything else is hidden. */
#ifndef XIR_EXPORT_H_
#define XIR_EXPORT_H_

#define XIR_API __attribute__((visibility("default")))

#endif /* XIR_EXPORT_H_ */
