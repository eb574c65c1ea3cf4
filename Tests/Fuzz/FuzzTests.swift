import Foundation
import Testing

@Suite struct FuzzTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus")

    /// The seeds, and every input that once crashed a parser.
    private static func inputs(of target: FuzzTarget) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: self.folder.appending(path: target.rawValue), includingPropertiesForKeys: nil)
    }

    @Test("Every input of the corpus ends in a value or an error", arguments: FuzzTarget.allCases)
    func corpus(target: FuzzTarget) throws {
        let inputs = try Self.inputs(of: target)
        #expect(inputs.count >= 3)
        for input in inputs {
            let problem = target.problem(with: Array(try Data(contentsOf: input)))
            #expect(problem == nil, "\(input.lastPathComponent)")
        }
    }

    @Test("Every folder of the corpus is a target's")
    func folders() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(Set(folders) == Set(FuzzTarget.allCases.map(\.rawValue)))
    }
}
