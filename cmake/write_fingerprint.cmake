# Writes RESULT with the digest of all files that LIST names.
file(STRINGS ${LIST} files)
set(digests "")
foreach(file IN LISTS files)
  file(SHA256 ${file} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 12 fingerprint)
file(WRITE ${RESULT} "#include \"api/programs/fingerprint.h\"\nnamespace narrowgauge {
const char* kernels_fingerprint() { return \"${fingerprint}\"; }
}  // namespace narrowgauge\n")
