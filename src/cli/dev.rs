//! `hanse dev`: a server with cells to try things on, and what to try, as a person would type it.

use super::serve::{Signals, runtime};
use super::{answer, progress};
use crate::config::{self, Config};
use crate::demonstration::{Scale, Shown};
use crate::fleet::kubeconfig;
use crate::server::Server;
use std::error::Error;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// What there is to place.
const EXAMPLE: &str = include_str!("../../examples/two-cities/web.yaml");

/// The cells that it goes to, if they are there.
const EXAMPLE_CELLS: [&str; 2] = ["dfw", "ams"];

pub(super) fn run(config: Config, scale: Scale) -> Result<(), Box<dyn Error>> {
    runtime()?.block_on(serve(config, scale))
}

async fn serve(config: Config, scale: Scale) -> Result<(), Box<dyn Error>> {
    let signals = Signals::new()?;
    let dir = std::path::absolute(&config.data_dir)?;
    let working = progress::spinner("starting the server");
    let server = Server::start(config).await?;
    working.set_message(format!("creating {} cells and {} projects", scale.cells, scale.projects));
    let shown = server.demonstrate(scale).await?;
    working.finish_and_clear();
    let files = Files::write(&dir, &std::fs::read_to_string(server.kubeconfig())?, &shown)?;
    let colour = io::stdout().is_terminal() && config::colour_is_welcome();
    let url = format!("https://{}", server.address());
    answer(&greeting(&url, &shown, &files, Look { colour, projects: scale.projects > 0 }))?;
    signals.any().await;
    server.stop().await;
    Ok(())
}

/// What a person needs to begin with.
struct Files {
    kubeconfig: PathBuf,
    example: PathBuf,
    program: PathBuf,
}

impl Files {
    fn write(dir: &Path, admin: &str, shown: &Shown) -> Result<Self, Box<dyn Error>> {
        let files = Self {
            kubeconfig: dir.join("dev.kubeconfig"),
            example: dir.join("two-cities.yaml"),
            program: config::program(),
        };
        certs::write_private(&files.kubeconfig, &kubeconfig::with_contexts(admin, &shown.cells)?)?;
        std::fs::write(&files.example, EXAMPLE)?;
        Ok(files)
    }
}

/// How the greeting looks, and whether there are projects to look at.
struct Look {
    colour: bool,
    projects: bool,
}

fn greeting(url: &str, shown: &Shown, files: &Files, Look { colour, projects }: Look) -> String {
    let (bold, dim, plain) = if colour { ("\x1b[1m", "\x1b[2m", "\x1b[0m") } else { ("", "", "") };
    let names: Vec<&str> = shown.cells.iter().map(|(name, _)| name.as_str()).collect();
    let cells = match names.as_slice() {
        [] => "no cells".to_owned(),
        few if few.len() <= 6 => format!("cells {}", few.join(", ")),
        many => format!("{} cells: {} and {} more", many.len(), many[..6].join(", "), many.len() - 6),
    };
    let first = names.first().unwrap_or(&"root");
    let (kubeconfig, example) = (files.kubeconfig.display(), files.example.display());
    let program = files.program.display();
    let there: Vec<&str> = EXAMPLE_CELLS.into_iter().filter(|cell| names.contains(cell)).collect();
    let there = if there.is_empty() { EXAMPLE_CELLS.join(" and ") } else { there.join(" and ") };
    let mut steps = vec![
        ("Talk to this server".to_owned(), format!("export KUBECONFIG={kubeconfig}")),
        ("List the cells".to_owned(), "kubectl get cells".to_owned()),
        (format!("Create a Deployment, and a rule that runs it in {there}"), format!("kubectl apply -f {example}")),
        ("See where it was placed, and why".to_owned(), format!("{program} explain deployment/web")),
        (format!("Look into cell {first}"), format!("kubectl --context {first} get deployments")),
        ("See how all cells are doing".to_owned(), format!("{program} status")),
    ];
    if projects {
        let about = "See what the projects have in the cells of the platform".to_owned();
        steps.push((about, format!("{program} status --context root")));
    }
    let mut text = format!("{bold}Hanse is ready:{plain} {url}, with {cells}.\n\nTry this in another terminal:\n\n");
    for (about, step) in steps {
        let _ = writeln!(text, "  {dim}# {about}{plain}\n  {bold}{step}{plain}");
    }
    text.push_str("\nCtrl-C stops the server; the next `hanse dev` continues where it stopped.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_try_is_told_in_plain_text_unless_somebody_is_looking() {
        let files =
            Files { kubeconfig: "/d/dev.kubeconfig".into(), example: "/d/two.yaml".into(), program: "hanse".into() };
        let cell = |name: &str| (name.to_owned(), format!("root:cells:{name}"));
        let shown = Shown { cells: vec![cell("dfw"), cell("ams")], ids: Vec::new() };
        let plain = Look { colour: false, projects: false };
        let text = greeting("https://127.0.0.1:6443", &shown, &files, plain);
        let expected = "\
Hanse is ready: https://127.0.0.1:6443, with cells dfw, ams.

Try this in another terminal:

  # Talk to this server
  export KUBECONFIG=/d/dev.kubeconfig
  # List the cells
  kubectl get cells
  # Create a Deployment, and a rule that runs it in dfw and ams
  kubectl apply -f /d/two.yaml
  # See where it was placed, and why
  hanse explain deployment/web
  # Look into cell dfw
  kubectl --context dfw get deployments
  # See how all cells are doing
  hanse status

Ctrl-C stops the server; the next `hanse dev` continues where it stopped.
";
        assert_eq!(text, expected);
        let bright = greeting("", &shown, &files, Look { colour: true, projects: true });
        assert!(bright.contains("\x1b[1mkubectl get cells\x1b[0m") && bright.contains("status --context root"));
    }
}
