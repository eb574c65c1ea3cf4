import Foundation
import Testing
import Tidegate
import TidegateModel

@testable import TidegateCLI

@Suite struct ExplanationTextTests {
    private func text(_ explanation: Explanation, width: Int = 100) -> String {
        ExplanationText.lines(explanation, TextStyle(isColoured: false, width: width)).joined(separator: "\n")
    }

    @Test func dump() {
        var out = ""
        for e in [
            ExplanationSamples.reached, ExplanationSamples.cableOut, ExplanationSamples.portal,
            ExplanationSamples.expired, ExplanationSamples.silentGateway, ExplanationSamples.noSuchName,
        ] {
            out += self.text(e) + "\n=====\n"
        }
        for c in ["explain", "wait", "run"] {
            do { var x = try TidegateCommand.parseAsRoot([c, "--help"]); try x.run() } catch {
                out += (Farewell(error, parsedBy: TidegateCommand.self).answer ?? "") + "\n=====\n"
            }
        }
        do { var x = try TidegateCommand.parseAsRoot(["--help"]); try x.run() } catch {
            out += (Farewell(error, parsedBy: TidegateCommand.self).answer ?? "") + "\n=====\n"
        }
        FileManager.default.createFile(atPath: "/work/dev/cli/dump.txt", contents: Data(out.utf8))
    }
}
