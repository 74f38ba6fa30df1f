# Lanemark with Homebrew on Linux, from the static programs of the release.
class Lanemark < Formula
  desc "Storage-path laboratory: measures, simulates and explains drives"
  homepage "@homepage@"
  version "@version@"
  license any_of: ["Apache-2.0", "MIT"]

  depends_on :linux

  on_intel do
    url "@homepage@/releases/download/v@version@/lanemark-@version@-x86_64-linux-musl.tar.gz"
    sha256 "@x86_64@"
  end

  on_arm do
    url "@homepage@/releases/download/v@version@/lanemark-@version@-aarch64-linux-musl.tar.gz"
    sha256 "@aarch64@"
  end

  def install
    bin.install "bin/lanemark"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/lanemark"
    zsh_completion.install "share/zsh/site-functions/_lanemark"
    fish_completion.install "share/fish/vendor_completions.d/lanemark.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/lanemark --version")
  end
end
