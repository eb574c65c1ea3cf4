import Foundation
import Testing
import TidegateTestKit

/// `make install` into a folder, and the completions that it installs, in the shells themselves.
@Suite(.serialized) struct InstallTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("install-\(UUID().uuidString)")

    private var share: String { "\(self.folder.path)/opt/x/share" }

    private static let files = [
        "bin/tidegate", "share/bash-completion/completions/tidegate", "share/fish/vendor_completions.d/tidegate.fish",
        "share/zsh/site-functions/_tidegate",
    ]

    private func make(_ target: String) async throws -> Program.Output {
        try await Program.run([
            "make", "--no-print-directory", "-C", Self.root, target, "PREFIX=/opt/x", "DESTDIR=\(self.folder.path)",
            "BUILT=\(BuiltProduct.path(of: "tidegate"))",
        ])
    }

    /// What is below the prefix.
    private var installed: [String] {
        let all = FileManager.default.enumerator(atPath: "\(self.folder.path)/opt/x")?.allObjects as? [String] ?? []
        return all.filter { name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(self.folder.path)/opt/x/\(name)")
            return attributes?[.type] as? FileAttributeType == .typeRegular
        }.sorted()
    }

    private func withInstalled(_ body: () async throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let output = try await self.make("install")
        try #require(output.status == 0, "\(output)")
        try await body()
    }

    @Test("make install puts the program and three completions below the prefix, and uninstall removes them")
    func install() async throws {
        try await self.withInstalled {
            #expect(self.installed == Self.files)
            let program = "\(self.folder.path)/opt/x/bin/tidegate"
            #expect(try await Program.expect([program, "--version"]).hasPrefix("tidegate "))
            for file in Self.files {
                let path = "\(self.folder.path)/opt/x/\(file)"
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == (file.hasPrefix("bin/") ? 0o755 : 0o644), "\(file)")
            }
            #expect(try await self.make("uninstall").status == 0)
            #expect(self.installed == [])
        }
    }

    @Test("bash completes commands and options by the installed file")
    func bash() async throws {
        try await self.withInstalled {
            let script = """
                source "$1" || exit 1
                function=$(complete -p tidegate | sed 's/.*-F \\([^ ]*\\).*/\\1/')
                words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMPREPLY=()
                  $function tidegate "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"; echo "${COMPREPLY[@]}"; }
                words tidegate ex
                words tidegate explain --cac
                """
            let output = try await Program.run([
                "bash", "--norc", "-c", script, "bash", "\(self.share)/bash-completion/completions/tidegate",
            ])
            #expect(output.output.split(separator: "\n") == ["explain", "--cacert"], "\(output)")
        }
    }

    @Test(
        "zsh finds the installed completion, and it is one",
        .enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/zsh")))
    func zsh() async throws {
        try await self.withInstalled {
            let script = """
                fpath=("$1" $fpath); autoload -Uz compinit; compinit -D -u
                echo $_comps[tidegate]
                autoload +X _tidegate && echo loaded
                """
            let output = try await Program.run(["zsh", "-f", "-c", script, "zsh", "\(self.share)/zsh/site-functions"])
            #expect(
                output.output.split(separator: "\n") == ["_tidegate", "loaded"] && output.errors == "", "\(output)")
        }
    }

    @Test(
        "fish completes commands and options by the installed file",
        .enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/fish")))
    func fish() async throws {
        try await self.withInstalled {
            let script = """
                set -p fish_complete_path \(self.share)/fish/vendor_completions.d
                complete -C 'tidegate ex'; complete -C 'tidegate explain --cac'
                """
            let output = try await Program.run([
                // Only commands on the PATH are completed.
                "env", "HOME=\(self.folder.path)", "PATH=\(self.folder.path)/opt/x/bin:/usr/bin:/bin", "fish",
                "--no-config", "-c", script,
            ])
            let names = output.output.split(separator: "\n").compactMap { $0.split(separator: "\t").first }
            #expect(names == ["explain", "--cacert"], "\(output)")
        }
    }
}
