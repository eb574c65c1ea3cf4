import Testing
import Tidegate
import TidegateModel

@testable import TidegateCLI

@Suite struct ExplanationTextTests {
    private func text(_ explanation: Explanation, width: Int = 100) -> String {
        ExplanationText.lines(explanation, TextStyle(isColoured: false, width: width)).joined(separator: "\n")
    }

}
