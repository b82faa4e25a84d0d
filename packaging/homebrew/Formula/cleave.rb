# The formula for Homebrew on Linux. A tap keeps it in a folder of this name.
#
# At a release a person has to fill in the address of the published source archive and its SHA-256, from SHA256SUMS of
# the release. The address here does not exist.
class Cleave < Formula
  desc "Cuts CSV files at record boundaries"
  homepage "https://cleave.invalid/"
  url "https://cleave.invalid/releases/0.2.0/cleave-0.2.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "MIT"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "xxhash" => :build
  depends_on "boost"
  depends_on "bzip2"
  depends_on "fmt"
  depends_on "libdeflate"
  depends_on :linux
  depends_on "lz4"
  depends_on "nettle"
  depends_on "utf8proc"
  depends_on "xz"
  depends_on "zlib"
  depends_on "zstd"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *std_cmake_args,
           "-DBUILD_TESTING=OFF", "-DCLEAVE_STATIC_DEPENDENCIES=OFF"
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
    # CMake installs this one where Debian expects it.
    zsh_completion.install share/"zsh/vendor-completions/_cleave"
  end

  test do
    (testpath/"input.csv").write "a,b\n1,\"x\ny\"\n2,z\n"
    assert_equal "2\n", shell_output("#{bin}/cleave count input.csv")
    system bin/"cleave", "split", "-n", "2", "input.csv"
    assert_equal "a,b\n2,z\n", (testpath/"input.2.csv").read
    assert_match version.to_s, shell_output("#{bin}/cleave --version")
  end
end
