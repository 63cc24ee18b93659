"""Composed operators at several sizes of numbers and in all types, against fp64 and eager's own error."""
