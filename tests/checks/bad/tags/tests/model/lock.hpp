// lock.hpp - the lock of the model, whose prefix has the folder.
//
//   MODEL_LOCK-1  It has one holder, as in LOCK-1.
