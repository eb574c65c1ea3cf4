import Foundation
import Testing
import TidegateTestKit

/// The commands of the README, on the built program.
@Suite struct ReadmeCommandTests {
    /// The arguments of every tidegate command in the README's `sh` blocks, without comments.
    private static func commands() throws -> [[String]] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        var isShell = false
        var commands: [[String]] = []
        for line in readme.split(separator: "\n") {
            if line.hasPrefix("```") { isShell = line == "```sh" }
            guard isShell, !line.hasPrefix("```") else { continue }
            let arguments = line.prefix { $0 != "#" }.split(separator: " ").map(String.init)
            guard let program = arguments.firstIndex(where: { $0 == "tidegate" || $0.hasSuffix("/tidegate") }) else {
                continue
            }
            commands.append(Array(arguments[(program + 1)...]))
        }
        return commands
    }

    @Test("Every command of the README exists, and its help lists every flag that the README uses")
    func help() async throws {
        let commands = try Self.commands()
        #expect(commands.count >= 8)
        for command in commands {
            // The command with its subcommand: what comes before the first flag and the first value.
            let isGroup = command.first == "tasks"
            let path = Array(command.prefix(isGroup ? 2 : 1)).filter { !$0.hasPrefix("-") }
            let help = try await Program.run([BuiltProduct.path(of: "tidegate")] + path + ["--help"])
            #expect(help.status == 0, "\(command): \(help.errors)")
            #expect(
                help.output.contains("USAGE: tidegate \(path.joined(separator: " "))"), "\(command): \(help.output)")
            for flag in command.prefix(while: { $0 != "--" }) where flag.hasPrefix("-") {
                let name = flag.split(separator: "=")[0]
                #expect(help.output.contains("\(name) ") || help.output.contains("\(name),"), "\(command): \(name)")
            }
        }
    }
}
